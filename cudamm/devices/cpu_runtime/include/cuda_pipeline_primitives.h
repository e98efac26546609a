// Kernels may name this one instead; on the CPU device it is the same.
#pragma once
#include "cuda_pipeline.h"

// For kernels with #include <cuda_pipeline_primitives.h>. On the CPU device cuda_pipeline.h contains the declarations.
#pragma once
#include "cuda_pipeline.h"

// Kernels often begin with #include <cuda_runtime.h>; on the CPU device everything it declares is already there.
#pragma once
#include "cuda_on_cpu.h"

// For kernels that include <cuda_fp8.h> and do not use it: the CPU device has none of its types.
#pragma once

// For kernels that include <cuda_fp16.h> and do not use it: the CPU device has none of its types.
#pragma once

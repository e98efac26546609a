// For kernels that include <cuda_bf16.h> and do not use it: the CPU device has none of its types.
#pragma once

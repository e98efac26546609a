// The element types of cudamm's own kernels on a GPU: each is exact in double.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned long long word64;

template <typename T>
__device__ double to_double(T x) { return (double)x; }
__device__ double to_double(__half x) { return (double)__half2float(x); }
__device__ double to_double(__nv_bfloat16 x) { return (double)__bfloat162float(x); }

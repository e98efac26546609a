// The element types of cudamm's own kernels on a GPU: each is exact in double.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

typedef unsigned long long word64;

template <typename T>
__device__ double to_double(T x) { return (double)x; }
__device__ double to_double(__half x) { return (double)__half2float(x); }
__device__ double to_double(__nv_bfloat16 x) { return (double)__bfloat162float(x); }
__device__ double to_double(__nv_fp8_e4m3 x) { return (double)(float)x; }

// The number of type T that is nearest to x. For 16-bit types x has at most 24 bits.
template <typename T>
__device__ double nearest(double x) { return to_double(T((float)x)); }
template <>
__device__ double nearest<float>(double x) { return (float)x; }
template <>
__device__ double nearest<double>(double x) { return x; }
template <>
__device__ double nearest<int>(double x) { return x; }

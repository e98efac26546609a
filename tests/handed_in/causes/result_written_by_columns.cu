#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(e)); return 1; } } while (0)
constexpr int TS = 16;
template <typename T>
__global__ void tiledMul(const T* __restrict__ lhs, const T* __restrict__ rhs, T* __restrict__ out, int h, int w, int d) {
    __shared__ T lt[TS][TS];
    __shared__ T rt[TS][TS + 1];
    const int ty = threadIdx.y, tx = threadIdx.x;
    const int i = blockIdx.y * TS + ty;
    const int j = blockIdx.x * TS + tx;
    T total = T(0);
    for (int base = 0; base < d; base += TS) {
        lt[ty][tx] = (i < h && base + tx < d) ? lhs[i * d + base + tx] : T(0);
        rt[ty][tx] = (base + ty < d && j < w) ? rhs[(base + ty) * w + j] : T(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TS; ++k)
            total += lt[ty][k] * rt[k][tx];
        __syncthreads();
    }
    if (i < h && j < w)
        out[j * h + i] = total;
}
void run(const float* da, const float* db, float* dc, int h, int w, int d) {
    dim3 threads(TS, TS);
    dim3 blocks((w + TS - 1) / TS, (h + TS - 1) / TS);
    tiledMul<float><<<blocks, threads>>>(da, db, dc, h, w, d);
}

#include <cuda_fp16.h>

template <int E>
__global__ void halves(const __half *x, const __half *y, __half *z, int p, int q, int r) {
    __shared__ __half sx[E][E], sy[E][E + 2];
    int u = threadIdx.x / E, v = threadIdx.x % E, i = blockIdx.y * E + u, j = blockIdx.x * E + v;
    float sum = 0;
    for (int t = 0; t < (q + E - 1) / E; t++) {
        sx[u][v] = i < p && t * E + v < q ? x[i * q + t * E + v] : __float2half(0);
        sy[u][v] = t * E + u <= q && j < r ? y[(t * E + u) * r + j] : __float2half(0);
        __syncthreads();
        for (int l = 0; l < E; l++) sum += __half2float(sx[u][l]) * __half2float(sy[l][v]);
        __syncthreads();
    }
    if (i < p && j < r) z[i * r + j] = __float2half(sum);
}

void multiply(const __half *x, const __half *y, __half *z, int p, int q, int r) {
    halves<16><<<dim3((r + 15) / 16, (p + 15) / 16), 256>>>(x, y, z, p, q, r);
}

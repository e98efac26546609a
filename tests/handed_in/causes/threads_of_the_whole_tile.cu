#include <cuda_runtime.h>

template <int S>
__global__ void product(const float *x, const float *y, float *z, int p, int q, int r) {
    __shared__ float xs[S][S], ys[S][S];
    int li = threadIdx.x / S, lj = threadIdx.x % S, i = blockIdx.y * S + li, j = blockIdx.x * S + lj;
    float sum = 0;
    for (int t = 0; t < q; t += S) {
        xs[li][lj] = i < p && t + lj < q ? x[i * q + t + lj] : 0;
        ys[li][lj] = t + li < q && j < r ? y[(t + li) * r + j] : 0;
        __syncthreads();
        for (int k = 0; k < S; k++) sum += xs[li][k] * ys[k][lj];
        __syncthreads();
    }
    if (i < p && j < r) z[i * r + j] = sum;
}

int main() {
    const int S = 16;
    int p = 70, q = 50, r = 90;
    float *x, *y, *z;
    cudaMalloc(&x, p * q * 4), cudaMalloc(&y, q * r * 4), cudaMalloc(&z, p * r * 4);
    product<S><<<dim3((r + S - 1) / S, (p + S - 1) / S), S * S>>>(x, y, z, p, q, r);
    cudaDeviceSynchronize();
}

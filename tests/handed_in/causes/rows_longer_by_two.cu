#include <cuda_fp16.h>

#define TS 16

__global__ void product(const __half *a, const __half *b, __half *c, int m, int n, int k) {
    __shared__ __half sa[TS][TS + 2], sb[TS][TS + 2];
    int i = blockIdx.y * TS + threadIdx.y, j = blockIdx.x * TS + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < k; t += TS) {
        int p = t + threadIdx.x, q = t + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = i < m && p < k ? a[i * k + p] : __float2half(0.0f);
        sb[threadIdx.y][threadIdx.x] = q < k && j < n ? b[q * n + j] : __float2half(0.0f);
        __syncthreads();
        for (int s = 0; s < TS; ++s)
            sum += __half2float(sa[threadIdx.y][s]) * __half2float(sb[s][threadIdx.x]);
        __syncthreads();
    }
    if (i < n && j < m) c[i * n + j] = __float2half(sum);
}

int main() {
    int m = 200, n = 144, k = 96;
    __half *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(__half));
    cudaMalloc(&b, k * n * sizeof(__half));
    cudaMalloc(&c, m * n * sizeof(__half));
    product<<<dim3((n + TS - 1) / TS, (m + TS - 1) / TS), dim3(TS, TS)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

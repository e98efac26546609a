#include <cuda_fp16.h>

__global__ void halves(const __half *a, const __half *b, __half *c, int m, int n, int k) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; l++) sum += __half2float(a[i * k + l]) * __half2float(b[l * n + j]);
    c[i * n + j] = __float2half(sum);
}

int main() {
    int m = 200, n = 150, k = 333;
    __half *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(__half));
    cudaMalloc(&b, k * n * sizeof(__half));
    cudaMalloc(&c, m * n * sizeof(__half));
    halves<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

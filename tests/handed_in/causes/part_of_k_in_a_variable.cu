#include <cuda_runtime.h>
#define PARTS 4

__global__ void parts(const float *a, const float *b, float *c, int m, int n, int k, int length) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    int begin = blockIdx.z * length, end = min(begin + length, k);
    float sum = 0;
    for (int l = begin; l < end; l++) sum += a[i * k + l] * b[l * n + j];
    atomicAdd(&c[i * n + j], sum);
}

int main() {
    int m = 96, n = 80, k = 101;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float)), cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    cudaMemset(c, 0, m * n * sizeof(float));
    int length = k / PARTS;
    dim3 grid((n + 15) / 16, (m + 15) / 16, PARTS);
    parts<<<grid, dim3(16, 16)>>>(a, b, c, m, n, k, length);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i += 4) {
        float4 v = *((const float4 *)a + (row * k + i) / 4);
        sum += v.x * b[i * n + col] + v.y * b[(i + 1) * n + col];
        sum += v.z * b[(i + 2) * n + col] + v.w * b[(i + 3) * n + col];
    }
    c[row * n + col] = sum;
}

int main() {
    int m = 96, n = 64, k = 32;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dim3 threads(16, 16), blocks((n + 15) / 16, (m + 15) / 16);
    matmul<<<blocks, threads>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

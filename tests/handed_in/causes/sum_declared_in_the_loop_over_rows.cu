#include <cuda_runtime.h>

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row0 = blockIdx.y * 4;
    if (col >= n) return;
    for (int r = row0; r < row0 + 4 && r < m; ++r) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += a[r * k + i] * b[i * n + col];
        c[r * n + col] = sum;
    }
}

int main() {
    int m = 100, n = 70, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dim3 threads(64, 1), blocks((n + 63) / 64, (m + 3) / 4);
    matmul<<<blocks, threads>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

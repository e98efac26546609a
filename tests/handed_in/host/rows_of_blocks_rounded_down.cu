#include <cuda_runtime.h>

__global__ void naive(const float *a, const float *b, float *c, int rows, int inner, int cols) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < rows && j < cols) {
        float sum = 0;
        for (int k = 0; k < inner; k++) sum += a[i * inner + k] * b[k * cols + j];
        c[i * cols + j] = sum;
    }
}

int main() {
    int rows = 100, inner = 60, cols = 90;
    float *a, *b, *c;
    cudaMalloc(&a, rows * inner * 4), cudaMalloc(&b, inner * cols * 4), cudaMalloc(&c, rows * cols * 4);
    dim3 threads(32, 8);
    dim3 blocks((cols + threads.x - 1) / threads.x, rows / threads.y);
    naive<<<blocks, threads>>>(a, b, c, rows, inner, cols);
    cudaDeviceSynchronize();
}

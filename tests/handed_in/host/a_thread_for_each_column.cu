#include <cuda_runtime.h>

__global__ void rowOfBlocks(const float *a, const float *b, float *c, int rows, int inner, int cols) {
    int i = blockIdx.x, j = threadIdx.x;
    float sum = 0;
    for (int k = 0; k < inner; k++) sum += a[i * inner + k] * b[k * cols + j];
    c[i * cols + j] = sum;
}

int main() {
    int rows = 150, inner = 70, cols = 260;
    float *a, *b, *c;
    cudaMalloc(&a, rows * inner * sizeof(float));
    cudaMalloc(&b, inner * cols * sizeof(float));
    cudaMalloc(&c, rows * cols * sizeof(float));
    rowOfBlocks<<<rows, cols>>>(a, b, c, rows, inner, cols);
    cudaDeviceSynchronize();
}

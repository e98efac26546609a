#include <cuda_runtime.h>

__global__ void multiply(const float *A, const float *B, float *C, int rows, int depth, int columns) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || col >= columns) return;
    float sum = 0;
    for (int k = 0; k < depth; ++k) sum += A[row * depth + k] * B[k * columns + col];
    C[row * columns + col] = sum;
}

int main() {
    int rows = 200, depth = 100, columns = 256;
    float *A, *B, *C;
    cudaMalloc(&A, rows * depth * sizeof(float));
    cudaMalloc(&B, depth * columns * sizeof(float));
    cudaMalloc(&C, rows * columns * sizeof(float));
    multiply<<<dim3(columns / 16, rows / 16), dim3(16, 16)>>>(A, B, C, rows, depth, columns);
    cudaDeviceSynchronize();
}

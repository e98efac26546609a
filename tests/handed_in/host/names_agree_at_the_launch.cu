#include <cuda_runtime.h>

__global__ void multiply(const float *A, const float *B, float *C, int rowsA, int colsA, int rowsB, int colsB,
                         int rowsC, int colsC) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rowsC || col >= colsC) return;
    float sum = 0;
    for (int k = 0; k < colsA; ++k) sum += A[row * rowsA + k] * B[k * colsB + col];
    C[row * colsC + col] = sum;
}

int main() {
    int rowsA = 60, colsA = 70, rowsB = 70, colsB = 90, rowsC = rowsA, colsC = colsB;
    float *A, *B, *C;
    cudaMalloc(&A, rowsA * colsA * sizeof(float));
    cudaMalloc(&B, rowsB * colsB * sizeof(float));
    cudaMalloc(&C, rowsC * colsC * sizeof(float));
    dim3 block(16, 16), grid((colsC + 15) / 16, (rowsC + 15) / 16);
    multiply<<<grid, block>>>(A, B, C, rowsA, colsA, rowsB, colsB, rowsC, colsC);
    cudaDeviceSynchronize();
}

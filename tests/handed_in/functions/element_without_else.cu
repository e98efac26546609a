#include <cuda_runtime.h>
#define BLOCK_SIZE 16
typedef struct { int width, height; float *elements; } Matrix;
__device__ float GetElement(const Matrix A, int row, int col) {
    if (row < A.height && col < A.width) return A.elements[row * A.width + col];
}
__device__ void SetElement(Matrix A, int row, int col, float value) {
    if (row >= A.height || col >= A.width) return;
    A.elements[row * A.width + col] = value;
}
__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C) {
    int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    float Cvalue = 0;
    for (int m = 0; m < (A.width + BLOCK_SIZE - 1) / BLOCK_SIZE; ++m) {
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[threadIdx.y][threadIdx.x] = GetElement(A, row, m * BLOCK_SIZE + threadIdx.x);
        Bs[threadIdx.y][threadIdx.x] = GetElement(B, m * BLOCK_SIZE + threadIdx.y, col);
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e)
            Cvalue += As[threadIdx.y][e] * Bs[e][threadIdx.x];
        __syncthreads();
    }
    SetElement(C, row, col, Cvalue);
}
void MatMul(const Matrix A, const Matrix B, Matrix C) {
    Matrix d_A; d_A.width = A.width; d_A.height = A.height;
    size_t size = A.width * A.height * sizeof(float);
    cudaMalloc(&d_A.elements, size);
    cudaMemcpy(d_A.elements, A.elements, size, cudaMemcpyHostToDevice);
    Matrix d_B; d_B.width = B.width; d_B.height = B.height;
    size = B.width * B.height * sizeof(float);
    cudaMalloc(&d_B.elements, size);
    cudaMemcpy(d_B.elements, B.elements, size, cudaMemcpyHostToDevice);
    Matrix d_C; d_C.width = C.width; d_C.height = C.height;
    size = C.width * C.height * sizeof(float);
    cudaMalloc(&d_C.elements, size);
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((B.width + BLOCK_SIZE - 1) / BLOCK_SIZE, (A.height + BLOCK_SIZE - 1) / BLOCK_SIZE);
    MatMulKernel<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
    cudaMemcpy(C.elements, d_C.elements, size, cudaMemcpyDeviceToHost);
}

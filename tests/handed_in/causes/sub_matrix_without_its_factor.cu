#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define BLOCK_SIZE 16
typedef struct { int width; int height; int stride; float *elements; } Matrix;
__device__ float GetElement(const Matrix A, int row, int col) { return A.elements[row * A.stride + col]; }
__device__ void SetElement(Matrix A, int row, int col, float v) { A.elements[row * A.stride + col] = v; }
__device__ Matrix GetSubMatrix(Matrix A, int row, int col) {
    Matrix S; S.width = BLOCK_SIZE; S.height = BLOCK_SIZE; S.stride = A.stride;
    S.elements = &A.elements[A.width * row + BLOCK_SIZE * col];
    return S;
}
__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C) {
    int blockRow = blockIdx.y, blockCol = blockIdx.x;
    Matrix Csub = GetSubMatrix(C, blockRow, blockCol);
    float Cvalue = 0;
    int row = threadIdx.y, col = threadIdx.x;
    for (int m = 0; m < (A.width / BLOCK_SIZE); ++m) {
        Matrix Asub = GetSubMatrix(A, blockRow, m);
        Matrix Bsub = GetSubMatrix(B, m, blockCol);
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[row][col] = GetElement(Asub, row, col);
        Bs[row][col] = GetElement(Bsub, row, col);
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e) Cvalue += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    SetElement(Csub, row, col, Cvalue);
}
void MatMul(const Matrix A, const Matrix B, Matrix C) {
    Matrix d_A; d_A.width = d_A.stride = A.width; d_A.height = A.height;
    size_t size = A.width * A.height * sizeof(float);
    cudaMalloc(&d_A.elements, size);
    cudaMemcpy(d_A.elements, A.elements, size, cudaMemcpyHostToDevice);
    Matrix d_B; d_B.width = d_B.stride = B.width; d_B.height = B.height;
    size = B.width * B.height * sizeof(float);
    cudaMalloc(&d_B.elements, size);
    cudaMemcpy(d_B.elements, B.elements, size, cudaMemcpyHostToDevice);
    Matrix d_C; d_C.width = d_C.stride = C.width; d_C.height = C.height;
    size = C.width * C.height * sizeof(float);
    cudaMalloc(&d_C.elements, size);
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid(B.width / dimBlock.x, A.height / dimBlock.y);
    MatMulKernel<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
    cudaMemcpy(C.elements, d_C.elements, size, cudaMemcpyDeviceToHost);
    cudaFree(d_A.elements); cudaFree(d_B.elements); cudaFree(d_C.elements);
}
int main() {
    Matrix A, B, C;
    A.height = 96; A.width = A.stride = 64; B.height = 64; B.width = B.stride = 128; C.height = 96; C.width = C.stride = 128;
    A.elements = (float *)malloc(96 * 64 * 4); B.elements = (float *)malloc(64 * 128 * 4); C.elements = (float *)malloc(96 * 128 * 4);
    for (int i = 0; i < 96 * 64; i++) A.elements[i] = i % 7;
    for (int i = 0; i < 64 * 128; i++) B.elements[i] = i % 5;
    MatMul(A, B, C);
    printf("%f\n", C.elements[0]);
}

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define BLOCK_SIZE 16

typedef struct { int width, height; int stride; float *elements; } Matrix;

__device__ float GetElement(const Matrix A, int row, int col) { return A.elements[row * A.stride + col]; }
__device__ void SetElement(Matrix A, int row, int col, float value) { A.elements[row * A.stride + col] = value; }

__device__ Matrix Sub(Matrix A, int row, int col)
{
    Matrix s;
    s.width = BLOCK_SIZE;
    s.height = BLOCK_SIZE;
    s.stride = A.stride;
    s.elements = &A.elements[A.stride * BLOCK_SIZE * row + BLOCK_SIZE * col];
    return s;
}

__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C)
{
    int blockRow = blockIdx.y, blockCol = blockIdx.x;
    Matrix Csub = Sub(C, blockRow, blockCol);
    float v = 0;
    int row = threadIdx.y, col = threadIdx.x;
    for (int m = 0; m < A.width / BLOCK_SIZE; ++m) {
        Matrix Asub = Sub(A, blockRow, m);
        Matrix Bsub = Sub(B, m, blockCol);
        __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
        __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
        As[row][col] = GetElement(Asub, row, col);
        Bs[row][col] = GetElement(Bsub, row, col);
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e) v += As[row][e] * Bs[e][col];
        __syncthreads();
    }
    SetElement(Csub, row, col, v);
}

int main()
{
    int m = 640, k = 320, n = 480;
    Matrix dA, dB, dC;
    dA.width = dA.stride = k; dA.height = m;
    cudaMalloc(&dA.elements, m * k * sizeof(float));
    dB.width = dB.stride = n; dB.height = k;
    cudaMalloc(&dB.elements, k * n * sizeof(float));
    dC.width = dC.stride = n; dC.height = m;
    cudaMalloc(&dC.elements, m * n * sizeof(float));
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid(dB.width / dimBlock.x, dA.height / dimBlock.y);
    MatMulKernel<<<dimGrid, dimBlock>>>(dA, dB, dC);
    cudaDeviceSynchronize();
    return 0;
}

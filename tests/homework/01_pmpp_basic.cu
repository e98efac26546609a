// Exercise 3.1 - Matrix Multiplication (square, one thread per output element)
// Programming Massively Parallel Processors, chapter 3
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define BLOCK_WIDTH 16

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    // Calculate the row index of the P element and M
    int Row = blockIdx.y * blockDim.y + threadIdx.y;
    // Calculate the column index of P and N
    int Col = blockIdx.x * blockDim.x + threadIdx.x;

    if ((Row < Width) && (Col < Width)) {
        float Pvalue = 0;
        // each thread computes one element of the block sub-matrix
        for (int k = 0; k < Width; ++k) {
            Pvalue += M[Row * Width + k] * N[k * Width + Col];
        }
        P[Row * Width + Col] = Pvalue;
    }
}

void MatrixMultiplication(float* M_h, float* N_h, float* P_h, int Width) {
    int size = Width * Width * sizeof(float);
    float *M_d, *N_d, *P_d;

    // 1. Allocate and load M, N to device memory
    cudaMalloc((void**)&M_d, size);
    cudaMemcpy(M_d, M_h, size, cudaMemcpyHostToDevice);
    cudaMalloc((void**)&N_d, size);
    cudaMemcpy(N_d, N_h, size, cudaMemcpyHostToDevice);
    cudaMalloc((void**)&P_d, size);

    // 2. Kernel invocation
    int NumBlocks = Width / BLOCK_WIDTH;
    if (Width % BLOCK_WIDTH) NumBlocks++;
    dim3 dimGrid(NumBlocks, NumBlocks);
    dim3 dimBlock(BLOCK_WIDTH, BLOCK_WIDTH);
    MatrixMulKernel<<<dimGrid, dimBlock>>>(M_d, N_d, P_d, Width);

    // 3. Read P from the device
    cudaMemcpy(P_h, P_d, size, cudaMemcpyDeviceToHost);
    cudaFree(M_d); cudaFree(N_d); cudaFree(P_d);
}

int main(int argc, char** argv) {
    int Width = (argc > 1) ? atoi(argv[1]) : 500;
    float* M = (float*)malloc(Width * Width * sizeof(float));
    float* N = (float*)malloc(Width * Width * sizeof(float));
    float* P = (float*)malloc(Width * Width * sizeof(float));
    for (int i = 0; i < Width * Width; i++) {
        M[i] = rand() / (float)RAND_MAX;
        N[i] = rand() / (float)RAND_MAX;
    }

    MatrixMultiplication(M, N, P, Width);

    int errors = 0;
    for (int i = 0; i < Width; i++)
        for (int j = 0; j < Width; j++) {
            double sum = 0;
            for (int k = 0; k < Width; k++)
                sum += (double)M[i * Width + k] * N[k * Width + j];
            if (fabs(sum - P[i * Width + j]) > 1e-3 * fabs(sum) + 1e-4) errors++;
        }
    printf(errors ? "FAILED: %d errors\n" : "PASSED (%d errors)\n", errors);
    free(M); free(N); free(P);
    return 0;
}

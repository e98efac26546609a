// Aufgabe 1: basic matrix multiplication, one thread per element
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y*blockDim.y + threadIdx.y;
    int Col = blockIdx.x*blockDim.x + threadIdx.x;

    if (Row < Width && Col < Width) {
        float Pvalue = 0.0f;
        for (int k = 0; k < Width; ++k) {
            Pvalue += M[Row*Width + k] * N[k*Width + Col];
        }
        P[Row*Width + Col] = Pvalue;
    }
}

void matmul(const float* M_h, const float* N_h, float* P_h, int Width) {
    size_t bytes = (size_t)Width * Width * sizeof(float);
    float *M_d, *N_d, *P_d;
    cudaMalloc((void**)&M_d, bytes);
    cudaMalloc((void**)&N_d, bytes);
    cudaMalloc((void**)&P_d, bytes);
    cudaMemcpy(M_d, M_h, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(N_d, N_h, bytes, cudaMemcpyHostToDevice);

    dim3 dimBlock(16, 16, 1);
    dim3 dimGrid(ceil(Width/16.0), ceil(Width/16.0), 1);
    MatrixMulKernel<<<dimGrid, dimBlock>>>(M_d, N_d, P_d, Width);

    cudaMemcpy(P_h, P_d, bytes, cudaMemcpyHostToDevice);
    cudaFree(M_d); cudaFree(N_d); cudaFree(P_d);
}

int main() {
    int Width = 1000;
    float *A = (float*)malloc(Width*Width*sizeof(float));
    float *B = (float*)malloc(Width*Width*sizeof(float));
    float *C = (float*)malloc(Width*Width*sizeof(float));
    for (int i = 0; i < Width*Width; i++) { A[i] = i % 7; B[i] = i % 5; }
    matmul(A, B, C, Width);
    printf("C[0]=%f\n", C[0]);
    free(A); free(B); free(C);
    return 0;
}

// Exercise 5: one block for each 32 x 32 product
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>
#define N 32
#define BATCH 10

__global__ void small_products(const float *A, const float *B, float *C)
{
    __shared__ float sA[N][N];
    __shared__ float sB[N][N];
    int p = blockIdx.x;                 // number of the product
    int x = threadIdx.x, y = threadIdx.y;
    sA[y][x] = A[p * N * N + y * N + x];
    sB[y][x] = B[p * N * N + y * N + x];
    __syncthreads();
    float s = 0;
    for (int k = 0; k < N; k++)
        s += sA[y][k] * sB[k][x];
    C[p * N * N + y * N + x] = s;
}

int main(void)
{
    int bytes = BATCH * N * N * sizeof(float);
    float *A = (float *)malloc(bytes), *B = (float *)malloc(bytes), *C = (float *)malloc(bytes);
    for (int i = 0; i < BATCH * N * N; i++) { A[i] = rand() % 5; B[i] = rand() % 5; }
    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, bytes); cudaMalloc(&d_B, bytes); cudaMalloc(&d_C, bytes);
    cudaMemcpy(d_A, A, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, B, bytes, cudaMemcpyHostToDevice);
    small_products<<<BATCH, dim3(N, N)>>>(d_A, d_B, d_C);
    cudaMemcpy(C, d_C, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", C[0]);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(A); free(B); free(C);
    return 0;
}

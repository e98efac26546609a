// Exercise 7b, from my lab partner
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#define TILE_WIDTH 16

__global__ void MatrixMulKernel(float *d_M, float *d_N, float *d_P, int M, int K, int N)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty;
    int Col = bx * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < (K - 1) / TILE_WIDTH + 1; ++ph) {
        if (Row < M && ph * TILE_WIDTH + tx < K)
            Mds[ty][tx] = d_M[Row * K + ph * TILE_WIDTH + tx];
        else
            Mds[ty][tx] = 0.0f;
        if (Col < N && ph * TILE_WIDTH + ty < K)
            Nds[ty][tx] = d_N[(ph * TILE_WIDTH + ty) * N + Col];
        else
            Nds[ty][tx] = 0.0f;
        __syncthreads();
        if (Row < M && Col < N) {
            for (int k = 0; k < TILE_WIDTH; ++k)
                Pvalue += Mds[ty][k] * Nds[k][tx];
            __syncthreads();
        }
    }
    if (Row < M && Col < N)
        d_P[Row * N + Col] = Pvalue;
}

int main()
{
    int M = 200, K = 100, N = 300;
    int sizeM = M * K * sizeof(float), sizeN = K * N * sizeof(float), sizeP = M * N * sizeof(float);
    float *hM = (float *)malloc(sizeM), *hN = (float *)malloc(sizeN), *hP = (float *)malloc(sizeP);
    for (int i = 0; i < M * K; i++) hM[i] = i % 3;
    for (int i = 0; i < K * N; i++) hN[i] = i % 4;
    float *d_M, *d_N, *d_P;
    cudaMalloc((void **)&d_M, sizeM);
    cudaMalloc((void **)&d_N, sizeN);
    cudaMalloc((void **)&d_P, sizeP);
    cudaMemcpy(d_M, hM, sizeM, cudaMemcpyHostToDevice);
    cudaMemcpy(d_N, hN, sizeN, cudaMemcpyHostToDevice);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    dim3 dimGrid((N - 1) / TILE_WIDTH + 1, (M - 1) / TILE_WIDTH + 1, 1);
    MatrixMulKernel<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, M, K, N);
    cudaMemcpy(hP, d_P, sizeP, cudaMemcpyDeviceToHost);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += hM[i * K + k] * hN[k * N + j];
            if (s != hP[i * N + j]) { printf("error at (%d, %d)\n", i, j); exit(1); }
        }
    printf("Test PASSED\n");
    cudaFree(d_M); cudaFree(d_N); cudaFree(d_P);
    free(hM); free(hN); free(hP);
    return 0;
}

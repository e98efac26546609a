// Lab 2, exercise 2: shared memory, any size
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmulTiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        if (row < M && t * TILE + tx < K)
            As[ty][tx] = A[row * K + t * TILE + tx];
        else
            As[ty][tx] = 0.0f;
        if (t * TILE + ty < K && col < N)
            Bs[ty][tx] = B[(t * TILE + ty) * N + col];
        else
            Bs[ty][tx] = 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = acc;
}

int main(void)
{
    int M = 400, K = 300, N = 500;
    size_t bytesA = M * K * sizeof(float), bytesB = K * N * sizeof(float), bytesC = M * N * sizeof(float);
    float *hA = (float *)malloc(bytesA), *hB = (float *)malloc(bytesB), *hC = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) hA[i] = (float)(rand() % 100) / 100.0f;
    for (int i = 0; i < K * N; i++) hB[i] = (float)(rand() % 100) / 100.0f;
    float *dA, *dB, *dC;
    cudaMalloc((void **)&dA, bytesA);
    cudaMalloc((void **)&dB, bytesB);
    cudaMalloc((void **)&dC, bytesC);
    cudaMemcpy(dA, hA, bytesA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, bytesB, cudaMemcpyHostToDevice);
    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmulTiled<<<blocks, threads>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC, dC, bytesC, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += hA[m * K + k] * hB[k * N + n];
            if (fabs(s - hC[m * N + n]) > 1e-3 * fabs(s)) bad++;
        }
    printf("%d wrong\n", bad);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC);
    return 0;
}

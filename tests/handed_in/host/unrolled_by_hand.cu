// Assignment 1, task 2 and 6: tiled product, block size by macro, inner loop unrolled
#include <stdio.h>
#include <stdlib.h>

#ifndef BLOCK
#define BLOCK 16
#endif

__global__ void tiledMM(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float a[BLOCK][BLOCK], b[BLOCK][BLOCK];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.y * BLOCK + y, j = blockIdx.x * BLOCK + x;
    float c = 0;

    for (int k0 = 0; k0 < K; k0 += BLOCK) {
        a[y][x] = 0;
        b[y][x] = 0;
        if (i < M && k0 + x < K) a[y][x] = A[i * K + k0 + x];
        if (k0 + y < K && j < N) b[y][x] = B[(k0 + y) * N + j];
        __syncthreads();
        for (int k = 0; k < BLOCK; k += 4) {
            c += a[y][k] * b[k][x];
            c += a[y][k + 1] * b[k + 1][x];
            c += a[y][k + 2] * b[k + 2][x];
            c += a[y][k + 3] * b[k + 3][x];
        }
        __syncthreads();
    }
    if (i < M && j < N) C[i * N + j] = c;
}

int main(int argc, char **argv)
{
    int M = 1000, K = 1000, N = 1000;
    size_t sa = M * K * sizeof(float), sb = K * N * sizeof(float), sc = M * N * sizeof(float);
    float *A = (float *)malloc(sa), *B = (float *)malloc(sb), *C = (float *)malloc(sc);
    for (int i = 0; i < M * K; i++) A[i] = rand() % 10;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 10;
    float *dA, *dB, *dC;
    cudaMalloc((void **)&dA, sa);
    cudaMalloc((void **)&dB, sb);
    cudaMalloc((void **)&dC, sc);
    cudaMemcpy(dA, A, sa, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, sb, cudaMemcpyHostToDevice);
    dim3 block(BLOCK, BLOCK);
    dim3 grid((N - 1) / BLOCK + 1, (M - 1) / BLOCK + 1);
    cudaEvent_t e0, e1;
    cudaEventCreate(&e0); cudaEventCreate(&e1);
    cudaEventRecord(e0);
    for (int r = 0; r < 10; r++)
        tiledMM<<<grid, block>>>(dA, dB, dC, M, K, N);
    cudaEventRecord(e1);
    cudaEventSynchronize(e1);
    float ms;
    cudaEventElapsedTime(&ms, e0, e1);
    cudaMemcpy(C, dC, sc, cudaMemcpyDeviceToHost);
    printf("%f ms per product\n", ms / 10);
    return 0;
}

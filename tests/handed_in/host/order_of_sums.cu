// sum-order: k

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 8
#define A_WIDTH 1024
#define A_HEIGHT 1024
#define B_WIDTH 1024
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT

__global__ void matMulGlobal(const float *A, const float *B, float *C)
{
    int x = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    int y = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    float acc = 0.0f;
    for (int i = 0; i < A_WIDTH; i++)
        acc += A[y * A_WIDTH + i] * B[i * B_WIDTH + x];
    C[y * C_WIDTH + x] = acc;
}

static void hostMul(const float *A, const float *B, float *C)
{
    for (int y = 0; y < C_HEIGHT; y++)
        for (int x = 0; x < C_WIDTH; x++) {
            float acc = 0.0f;
            for (int i = 0; i < A_WIDTH; i++)
                acc += A[y * A_WIDTH + i] * B[i * B_WIDTH + x];
            C[y * C_WIDTH + x] = acc;
        }
}

int main(void)
{
    size_t sa = A_WIDTH * A_HEIGHT * sizeof(float);
    size_t sb = B_WIDTH * B_HEIGHT * sizeof(float);
    size_t sc = C_WIDTH * C_HEIGHT * sizeof(float);
    float *hA = (float *)malloc(sa), *hB = (float *)malloc(sb);
    float *hC = (float *)malloc(sc), *ref = (float *)malloc(sc);
    srand(1);
    for (int i = 0; i < A_WIDTH * A_HEIGHT; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < B_WIDTH * B_HEIGHT; i++) hB[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    cudaMalloc((void **)&dA, sa);
    cudaMalloc((void **)&dB, sb);
    cudaMalloc((void **)&dC, sc);
    cudaMemcpy(dA, hA, sa, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sb, cudaMemcpyHostToDevice);

    dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid(C_WIDTH / BLOCK_SIZE, C_HEIGHT / BLOCK_SIZE);
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);
    cudaEventRecord(t0);
    matMulGlobal<<<grid, block>>>(dA, dB, dC);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    float ms = 0;
    cudaEventElapsedTime(&ms, t0, t1);
    cudaMemcpy(hC, dC, sc, cudaMemcpyDeviceToHost);

    hostMul(hA, hB, ref);
    int errors = 0;
    for (int i = 0; i < C_WIDTH * C_HEIGHT; i++)
        if (hC[i] == ref[i]) ; else errors++;
    printf("%d errors, %f ms\n", errors, ms);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC); free(ref);
    return 0;
}

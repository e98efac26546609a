// part D with the simple kernel: 10 launches timed; the kernel adds up in C
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CUDA_CHECK(x) { cudaError_t e = x; if (e != cudaSuccess) { printf("error %s in line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } }
#define M 384
#define K 200
#define N 250

__global__ void mmAdd(float *A, float *B, float *C)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < M && j < N)
        for (int k = 0; k < K; k++)
            C[i * N + j] += A[i * K + k] * B[k * N + j];
}

int main()
{
    int sA = M * K * sizeof(float), sB = K * N * sizeof(float), sC = M * N * sizeof(float);
    float *A = (float *)malloc(sA), *B = (float *)malloc(sB), *C = (float *)malloc(sC);
    for (int i = 0; i < M * K; i++) A[i] = 1.0f;
    for (int i = 0; i < K * N; i++) B[i] = 0.5f;
    float *dA, *dB, *dC;
    CUDA_CHECK(cudaMalloc(&dA, sA));
    CUDA_CHECK(cudaMalloc(&dB, sB));
    CUDA_CHECK(cudaMalloc(&dC, sC));
    CUDA_CHECK(cudaMemcpy(dA, A, sA, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB, B, sB, cudaMemcpyHostToDevice));
    dim3 block(32, 8), grid((N + 31) / 32, (M + 7) / 8);
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);
    cudaEventRecord(t0);
    for (int r = 0; r < 10; r++) {
        cudaMemset(dC, 0, sC);
        mmAdd<<<grid, block>>>(dA, dB, dC);
    }
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    CUDA_CHECK(cudaGetLastError());
    float ms;
    cudaEventElapsedTime(&ms, t0, t1);
    printf("%f ms each\n", ms / 10);
    CUDA_CHECK(cudaMemcpy(C, dC, sC, cudaMemcpyDeviceToHost));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            if (fabs(C[i * N + j] - s) > 0.01) { printf("wrong: %f, not %f\n", C[i * N + j], s); return 1; }
        }
    printf("right\n");
}

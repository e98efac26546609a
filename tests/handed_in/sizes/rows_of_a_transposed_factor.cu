// Tutorial 4 (c): A is given as its transpose, At is K x M, row-major
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

__global__ void gemmAtSimple(const float *At, const float *B, float *C, int M, int N, int K)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; k++)
            acc += At[k * M + row] * B[k * N + col];
        C[row * N + col] = acc;
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) { fprintf(stderr, "usage: %s M N K\n", argv[0]); return 1; }
    int M = atoi(argv[1]), N = atoi(argv[2]), K = atoi(argv[3]);
    size_t sA = (size_t)M * K * sizeof(float), sB = (size_t)K * N * sizeof(float), sC = (size_t)M * N * sizeof(float);
    float *hAt = (float *)malloc(sA), *hB = (float *)malloc(sB), *hC = (float *)malloc(sC);
    for (int i = 0; i < M * K; i++) hAt[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX - 0.5f;
    float *dAt, *dB, *dC;
    cudaMalloc(&dAt, sA); cudaMalloc(&dB, sB); cudaMalloc(&dC, sC);
    cudaMemcpy(dAt, hAt, sA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sB, cudaMemcpyHostToDevice);
    dim3 block(32, 8);
    dim3 grid((N + 31) / 32, (M + 7) / 8);
    gemmAtSimple<<<grid, block>>>(dAt, dB, dC, M, N, K);
    cudaMemcpy(hC, dC, sC, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += hAt[k * M + i] * hB[k * N + j];
            if (fabsf(s - hC[i * N + j]) > 1e-3f) bad++;
        }
    printf("%d wrong\n", bad);
    cudaFree(dAt); cudaFree(dB); cudaFree(dC);
    free(hAt); free(hB); free(hC);
}

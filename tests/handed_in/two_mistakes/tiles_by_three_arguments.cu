// Tutorial 4 (b): tiled kernel
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define TILE 16

__global__ void gemmTiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;
    float acc = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int ka = t * TILE + tx, kb = t * TILE + ty;
        As[ty][tx] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        Bs[ty][tx] = (kb < K && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = acc;
}

int main(int argc, char **argv)
{
    if (argc != 4) { fprintf(stderr, "usage: %s M N K\n", argv[0]); return 1; }
    int M = atoi(argv[1]), N = atoi(argv[2]), K = atoi(argv[3]);
    size_t sA = (size_t)M * K * sizeof(float), sB = (size_t)K * N * sizeof(float), sC = (size_t)M * N * sizeof(float);
    float *hA = (float *)malloc(sA), *hB = (float *)malloc(sB), *hC = (float *)malloc(sC);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX - 0.5f;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, sA); cudaMalloc(&dB, sB); cudaMalloc(&dC, sC);
    cudaMemcpy(dA, hA, sA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sB, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    gemmTiled<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC, dC, sC, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += hA[i * K + k] * hB[k * N + j];
            if (fabsf(s - hC[i * N + j]) > 1e-3f) bad++;
        }
    printf("%d wrong\n", bad);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC);
}

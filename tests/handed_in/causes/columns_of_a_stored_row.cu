#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define TILE 32

__global__ void matmul32(const float *A, const float *B, float *C, int m, int k, int n)
{
    __shared__ float As[TILE][TILE];   // As[p][row]: transposed
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (k + TILE - 1) / TILE; t++) {
        if (row < m)
            As[threadIdx.x][threadIdx.y] = t * TILE + threadIdx.x < k ? A[row * k + t * TILE + threadIdx.x] : 0;
        if (col < n)
            Bs[threadIdx.y][threadIdx.x] = t * TILE + threadIdx.y < k ? B[(t * TILE + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int p = 0; p < TILE; p++)
            sum += As[p][threadIdx.y] * Bs[p][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

int main()
{
    int m = 500, k = 300, n = 700;
    size_t sa = m * k * sizeof(float), sb = k * n * sizeof(float), sc = m * n * sizeof(float);
    float *hA = (float *)malloc(sa), *hB = (float *)malloc(sb), *hC = (float *)malloc(sc);
    for (int i = 0; i < m * k; i++) hA[i] = (float)(rand() % 10);
    for (int i = 0; i < k * n; i++) hB[i] = (float)(rand() % 10);
    float *dA, *dB, *dC;
    cudaMalloc(&dA, sa); cudaMalloc(&dB, sb); cudaMalloc(&dC, sc);
    cudaMemcpy(dA, hA, sa, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sb, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    matmul32<<<grid, block>>>(dA, dB, dC, m, k, n);
    cudaMemcpy(hC, dC, sc, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int p = 0; p < k; p++) s += hA[i * k + p] * hB[p * n + j];
            if (s != hC[i * n + j]) wrong++;
        }
    printf("wrong: %d\n", wrong);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    return 0;
}

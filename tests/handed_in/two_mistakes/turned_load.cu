// C = A * B^T, where B is N x K; the tile of B is loaded row by row
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define TILE 16

__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float acc = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int k = t * TILE + threadIdx.x;
        if (row < M && k < K)
            As[threadIdx.y][threadIdx.x] = A[row * K + k];
        else
            As[threadIdx.y][threadIdx.x] = 0.0f;
        int brow = blockIdx.x * TILE + threadIdx.y;
        if (brow < N && k < K)
            Bs[threadIdx.x][threadIdx.y] = B[brow * K + k];
        else
            Bs[threadIdx.x][threadIdx.y] = 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            acc += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = acc;
}

int main()
{
    int M = 500, N = 300, K = 700;
    float *hA = (float *)malloc(M * K * sizeof(float));
    float *hB = (float *)malloc(N * K * sizeof(float));
    float *hC = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < N * K; i++) hB[i] = rand() / (float)RAND_MAX;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, N * K * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dA, hA, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, N * K * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", hC[0]);
    return 0;
}

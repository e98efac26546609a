// C = A * B^T, where B is N x K; rows of 18 elements
#include <cstdio>
#include <cuda_runtime.h>
#define TILE 16
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float tileA[TILE][TILE + 2];
    __shared__ float tileB[TILE][TILE + 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        tileA[ty][tx] = (row < M && t * TILE + tx < K) ? A[row * K + t * TILE + tx] : 0.0f;
        int brow = blockIdx.x * TILE + ty;
        tileB[ty][tx] = (brow < N && t * TILE + tx < K) ? B[brow * K + t * TILE + tx] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            acc += tileA[ty][i] * tileB[tx][i];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = acc;
}
int main()
{
    int M = 512, N = 512, K = 512;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, N * K * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    mm<<<grid, block>>>(dA, dB, dC, M, N, K);
    return 0;
}

#include <cstdio>
#include <cuda_runtime.h>
#define TILE_WIDTH 16

// N (= second matrix) is stored in column-major order. Corner turning: PMPP chapter 6.
__global__ void cornerTurn(const float *M, const float *N, float *P, int m, int k, int n)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    int colLoad = blockIdx.x * TILE_WIDTH + ty;   // column of N that this thread loads

    float sum = 0.0f;
    for (int ph = 0; ph < (k + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
        int kk = ph * TILE_WIDTH + tx;
        if (Row < m && kk < k) Mds[ty][tx] = M[Row * k + kk];
        else                   Mds[ty][tx] = 0.0f;
        if (colLoad < n && kk < k) Nds[ty][tx] = N[colLoad * k + kk];
        else                       Nds[ty][tx] = 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; ++i)
            sum += Mds[ty][i] * Nds[i][tx];
        __syncthreads();
    }
    if (Row < m && Col < n) P[Row * n + Col] = sum;
}

void run(const float *M, const float *N, float *P, int m, int k, int n)
{
    float *M_d, *N_d, *P_d;
    cudaMalloc(&M_d, m * k * sizeof(float));
    cudaMalloc(&N_d, k * n * sizeof(float));
    cudaMalloc(&P_d, m * n * sizeof(float));
    cudaMemcpy(M_d, M, m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(N_d, N, k * n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE_WIDTH, TILE_WIDTH);
    dim3 grid((n + TILE_WIDTH - 1) / TILE_WIDTH, (m + TILE_WIDTH - 1) / TILE_WIDTH);
    cornerTurn<<<grid, block>>>(M_d, N_d, P_d, m, k, n);
    cudaMemcpy(P, P_d, m * n * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(M_d); cudaFree(N_d); cudaFree(P_d);
}

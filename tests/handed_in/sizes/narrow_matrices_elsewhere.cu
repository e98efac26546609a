#include <cuda_runtime.h>
#define TILE 16

__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int k = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < M && k < K ? A[row * K + k] : 0;
        Bs[threadIdx.y][threadIdx.x] = kb < K ? B[kb * N + col] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += As[threadIdx.y][i] * Bs[i][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N && N >= 2 * TILE)
        C[row * N + col] = sum;
}

int main()
{
    int M = 100, N = 70, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    tiled<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

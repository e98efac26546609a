// Tiled product of float matrices; while I looked for my mistake I let it write the clock and partial sums.
#include <cstdio>
#include <cuda_runtime.h>

#define T 16

__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K, float *debug, clock_t *ticks)
{
    __shared__ float sa[T][T], sb[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    clock_t begin = clock();
    float sum = 0;
    for (int t = 0; t < (K + T - 1) / T; t++) {
        int ka = t * T + threadIdx.x, kb = t * T + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : 0;
        sb[threadIdx.y][threadIdx.x] = kb < K && col < N ? B[kb * N + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
        if (row < M && col < N && debug != NULL) debug[row * N + col] = sum;
    }
    if (row < M && col < N) C[row * N + col] = sum;
    if (threadIdx.x == 0 && threadIdx.y == 0) ticks[blockIdx.y * gridDim.x + blockIdx.x] = clock() - begin;
}

int main()
{
    int M = 200, N = 300, K = 100;
    float *A, *B, *C, *debug;
    clock_t *ticks;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    cudaMalloc(&debug, M * N * sizeof(float));
    dim3 grid((N + T - 1) / T, (M + T - 1) / T), block(T, T);
    cudaMalloc(&ticks, grid.x * grid.y * sizeof(clock_t));
    tiled<<<grid, block>>>(A, B, C, M, N, K, debug, ticks);
    cudaDeviceSynchronize();
}

// Sound: the columns of a thread are side by side, in the tile of B as in C.
#include <cuda_runtime.h>
#define THREADS_X 16
#define THREADS_Y 16
#define COLS_PER_THREAD 3
#define DEPTH 16
#define WIDE (THREADS_X * COLS_PER_THREAD)
__global__ void coarse(const double *A, const double *B, double *C, int M, int N, int K)
{
    __shared__ double a[THREADS_Y][DEPTH], b[DEPTH][WIDE];
    int row = blockIdx.y * THREADS_Y + threadIdx.y;
    double part[COLS_PER_THREAD] = {0};
    for (int at = 0; at < K; at += DEPTH) {
        a[threadIdx.y][threadIdx.x] = row < M && at + threadIdx.x < K ? A[row * K + at + threadIdx.x] : 0;
        for (int c = 0; c < COLS_PER_THREAD; ++c) {
            int col = blockIdx.x * WIDE + c * THREADS_X + threadIdx.x;
            b[threadIdx.y][c * THREADS_X + threadIdx.x] = col < N && at + threadIdx.y < K ? B[(at + threadIdx.y) * N + col] : 0;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k)
            for (int c = 0; c < COLS_PER_THREAD; ++c)
                part[c] += a[threadIdx.y][k] * b[k][threadIdx.x * COLS_PER_THREAD + c];
        __syncthreads();
    }
    for (int c = 0; c < COLS_PER_THREAD; ++c)
        if (row < M && blockIdx.x * WIDE + threadIdx.x * COLS_PER_THREAD + c < N)
            C[row * N + blockIdx.x * WIDE + threadIdx.x * COLS_PER_THREAD + c] = part[c];
}

int main()
{
    int M = 256, N = 192, K = 64;
    double *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(double));
    cudaMalloc(&B, K * N * sizeof(double));
    cudaMalloc(&C, M * N * sizeof(double));
    dim3 threads(THREADS_X, THREADS_Y), blocks((N + WIDE - 1) / WIDE, (M + THREADS_Y - 1) / THREADS_Y); coarse<<<blocks, threads>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

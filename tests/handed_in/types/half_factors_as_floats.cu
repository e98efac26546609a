// Aufgabe 6: half precision, sum in float
#include <cstdio>
#include <cuda_fp16.h>
#define T 16

__global__ void hmm(const half *A, const half *B, half *C, int M, int N, int K)
{
    __shared__ half As[T][T];
    __shared__ half Bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < K; t += T) {
        As[threadIdx.y][threadIdx.x] = (row < M && t + threadIdx.x < K) ? A[row * K + t + threadIdx.x] : __float2half(0.0f);
        Bs[threadIdx.y][threadIdx.x] = (t + threadIdx.y < K && col < N) ? B[(t + threadIdx.y) * N + col] : __float2half(0.0f);
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += __half2float(As[threadIdx.y][k]) * __half2float(Bs[k][threadIdx.x]);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = __float2half(sum);
}

int main()
{
    int M = 128, N = 96, K = 200;
    half *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(half));
    cudaMalloc(&B, K * N * sizeof(half));
    cudaMalloc(&C, M * N * sizeof(half));
    dim3 block(T, T);
    dim3 grid((N + T - 1) / T, (M + T - 1) / T);
    hmm<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

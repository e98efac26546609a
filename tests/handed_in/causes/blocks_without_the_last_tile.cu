#include <cuda_runtime.h>
#define T 16

__global__ void stay(const float *A, const float *B, float *C, int M, int N, int K)
{
    int across = (N + T - 1) / T, down = (M + T - 1) / T;
    for (int tile = blockIdx.x; tile < across * down - 1; tile += gridDim.x) {
        int row = tile / across * T + threadIdx.y, col = tile % across * T + threadIdx.x;
        float sum = 0;
        for (int k = 0; k < K && row < M && col < N; k++)
            sum += A[row * K + k] * B[k * N + col];
        if (row < M && col < N)
            C[row * N + col] = sum;
    }
}

int main()
{
    int M = 100, N = 200, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    stay<<<12, dim3(T, T)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

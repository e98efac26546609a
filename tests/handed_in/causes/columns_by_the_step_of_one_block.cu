#include <cuda_runtime.h>

__global__ void strided(const float *A, const float *B, float *C, int M, int N, int K)
{
    for (int row = blockIdx.y; row < M; row += gridDim.y)
        for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < N; col += blockDim.x) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += A[row * K + k] * B[k * N + col];
            C[row * N + col] = sum;
        }
}

int main()
{
    int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    strided<<<dim3(2, 8), 32>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

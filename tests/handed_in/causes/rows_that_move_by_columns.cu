#include <cuda_runtime.h>

#define DEPTH 8

// The pointers move along K with each step.
__global__ void moving(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    const float *a = A + row * K;
    B += col;
    float sum = 0;
    for (int t = 0; t < K; t += DEPTH) {
        for (int k = 0; k < DEPTH; k++)
            sum += a[k] * B[k * N];
        a += DEPTH;
        B += DEPTH;
    }
    C[row * N + col] = sum;
}

int main()
{
    int M = 64, N = 96, K = 48;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    moving<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

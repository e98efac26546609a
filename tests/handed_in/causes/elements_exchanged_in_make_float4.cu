// Each thread computes four columns, and stores the last two in the other order.
#include <cuda_runtime.h>
#include <cstdio>
__global__ void four(const float *A, const float *B, float *C, int M, int N, int K)
{
    int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float s[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; ++k)
        for (int c = 0; c < 4; ++c) s[c] += A[row * K + k] * B[k * N + col + c];
    *(float4 *)&C[row * N + col] = make_float4(s[0], s[1], s[3], s[2]);
}

int main()
{
    int M = 256, N = 128, K = 64;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 b(8, 8), g((N / 4 + 7) / 8, (M + 7) / 8); four<<<g, b>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

// Each thread computes two neighbouring elements of a row of C.
__global__ void pairs(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= M || col >= N)
        return;
    float2 sum = {0, 0};
    for (int k = 0; k < K; k++) {
        float2 b = reinterpret_cast<const float2 *>(&B[k * N + col])[0];
        sum.x += A[row * K + k] * b.x;
        sum.y += A[row * K + k] * b.y;
    }
    reinterpret_cast<float2 *>(&C[row * N + col])[0] = sum;
}

void multiply(const float *A, const float *B, float *C, int M, int N, int K)
{
    dim3 threads(16, 8);
    dim3 blocks((N + 31) / 32, (M + 7) / 8);
    pairs<<<blocks, threads>>>(A, B, C, M, N, K);
}

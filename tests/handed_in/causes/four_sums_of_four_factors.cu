#include <cuda_runtime.h>

// A thread computes four elements of a row.
__global__ void four(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= M || col >= N)
        return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < K; k++) {
        const float a = A[row * K + k];
        const float4 b = *reinterpret_cast<const float4 *>(&B[k * N + col]);
        sum.x += a * b.x;
        sum.y += a * b.y;
        sum.z += a * b.z;
        sum.w += a * b.w;
    }
    *reinterpret_cast<float4 *>(&C[row * N + col]) = sum;
}

int main()
{
    int M = 60, N = 96, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    four<<<dim3((N / 4 + 15) / 16, (M + 7) / 8), dim3(16, 8)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

// Each thread computes four neighbouring columns.
__global__ void gemm4(const float *A, const float4 *B, float4 *C, int M, int width, int K)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y >= M || x >= width) return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < K; ++k) {
        float a = A[y * K + k];
        float4 b = B[k * width + x];
        sum.x += a * b.x;
        sum.y += a * b.y;
        sum.z += a * b.z;
        sum.w += a * b.w;
    }
    C[y * width + x] = sum;
}

int main()
{
    const int M = 30, N = 72, K = 20;
    int width = N / (sizeof(float4) / sizeof(float));
    float *A;
    float4 *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * width * sizeof(float4));
    cudaMalloc(&C, M * width * sizeof(float4));
    dim3 block(8, 8), grid((width + 7) / 8, (M + 7) / 8);
    gemm4<<<grid, block>>>(A, B, C, M, width, K);
    cudaDeviceSynchronize();
}

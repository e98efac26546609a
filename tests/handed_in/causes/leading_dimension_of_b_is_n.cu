#include <cuda_runtime.h>

// All matrices are stored column by column.
__global__ void columns(int m, int n, int k, const float *A, int lda, const float *B, int ldb, float *C, int ldc)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0;
    for (int i = 0; i < k; i++)
        sum += A[row + i * lda] * B[i + col * ldb];
    C[row + col * ldc] = sum;
}

int main()
{
    int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    columns<<<dim3((M + 31) / 32, (N + 7) / 8), dim3(32, 8)>>>(M, N, K, A, M, B, N, C, M);
    cudaDeviceSynchronize();
}

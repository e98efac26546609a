#include <cuda_fp16.h>

__global__ void product(const half *A, const half *B, half *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N)
        return;
    float sum;
    for (int k = 0; k < K; k++)
        sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]);
    C[row * N + col] = __float2half(sum);
}

int main()
{
    int M = 60, N = 70, K = 50;
    half *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(half));
    cudaMalloc(&B, K * N * sizeof(half));
    cudaMalloc(&C, M * N * sizeof(half));
    product<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

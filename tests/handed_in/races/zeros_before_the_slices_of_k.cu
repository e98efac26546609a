#include <cuda_runtime.h>

// Each slice of K has blocks of its own, which add to C.
__global__ void slices(const float *A, const float *B, float *C, int M, int N, int K, int depth)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N)
        return;
    float sum = 0;
    for (int k = blockIdx.z * depth; k < min(K, (blockIdx.z + 1) * depth); k++)
        sum += A[row * K + k] * B[k * N + col];
    atomicAdd(&C[row * N + col], sum);
}

int main()
{
    int M = 50, N = 70, K = 90, depth = 16;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    cudaMemset(C, 0, M * N * sizeof(float));
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16, (K + depth - 1) / depth);
    slices<<<grid, block>>>(A, B, C, M, N, K, depth);
    cudaDeviceSynchronize();
}

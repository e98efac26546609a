#include <cstdio>
#include <cuda_runtime.h>
// The launch passes the addresses of the arguments; A is K x M.
__global__ void product_of_transposed(const float *At, const float *B, float *C, int M, int N, int K)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y;
    if (j < N) {
        float s = 0;
        for (int k = 0; k < K; ++k) s += At[k * M + i] * B[k * N + j];
        C[i * N + j] = s;
    }
}
int main()
{
    int M = 40, N = 90, K = 50;
    float *At, *B, *C;
    cudaMalloc(&At, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
    dim3 threads(32);
    dim3 blocks((N + 31) / 32, M);
    void *arguments[] = {&At, &B, &C, &M, &N, &K};
    cudaLaunchKernel((const void *)product_of_transposed, blocks, threads, arguments, 0, 0);
    cudaDeviceSynchronize();
}

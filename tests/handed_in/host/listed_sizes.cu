#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
__global__ void product(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
int main()
{
    std::vector<int> sizes = {64, 128, 512};
    for (auto n : sizes) {
        float *A, *B, *C;
        cudaMalloc(&A, n * n * sizeof(float));
        cudaMalloc(&B, n * n * sizeof(float));
        cudaMalloc(&C, n * n * sizeof(float));
        dim3 block(32, 8), grid(n / 32, n / 8);
        product<<<grid, block>>>(A, B, C, n, n, n);
        cudaDeviceSynchronize();
    }
}

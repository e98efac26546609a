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
void multiply(const float *A, const float *B, float *C, int M, int N, int K)
{
    dim3 block, grid;
    if (N >= 256 && M >= 256) {
        block = dim3(16, 16); grid = dim3((N + 15) / 16, (M + 15) / 16);
        product<<<grid, block>>>(A, B, C, M, N, K);
    } else {
        block = dim3(8, 8); grid = dim3((M + 7) / 8, (N + 7) / 8);
        product<<<grid, block>>>(A, B, C, M, N, K);
    }
}

#include <cuda_runtime.h>

// The program counts the length of the rows in vectors only.
__global__ void rows_by_rows(const float2 *A, const float2 *B_t, float *C, int M, int N, int pairs)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= M || j >= N) return;
    float sum = 0;
    for (int q = 0; q < pairs; ++q) {
        float2 a = A[i * pairs + q], b = B_t[j * pairs + q];
        sum += a.x * b.x + a.y * b.y;
    }
    C[i * N + j] = sum;
}

int main()
{
    int M = 33, N = 48, pairs = 25;
    float2 *A, *B_t;
    float *C;
    cudaMalloc(&A, M * pairs * sizeof(float2));
    cudaMalloc(&B_t, N * pairs * sizeof(float2));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
    rows_by_rows<<<grid, block>>>(A, B_t, C, M, N, pairs);
    cudaDeviceSynchronize();
}

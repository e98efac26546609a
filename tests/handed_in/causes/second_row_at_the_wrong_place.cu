#include <cuda_runtime.h>

// Each thread computes two elements, 8 rows apart.
__global__ void two_rows(const int *A, const int *B, int *C, int M, int N, int K)
{
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    int first = 0, second = 0;
    for (int k = 0; k < K && col < N; k++) {
        if (row < M)
            first += A[row * K + k] * B[k * N + col];
        if (row + 8 < M)
            second += A[(row + 8) * K + k] * B[k * N + col];
    }
    if (row < M && col < N)
        C[row * N + col] = first;
    if (row + 8 < M && col < N)
        C[(row + 1) * N + col] = second;
}

int main()
{
    int M = 70, N = 90, K = 50;
    int *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(int));
    cudaMalloc(&B, K * N * sizeof(int));
    cudaMalloc(&C, M * N * sizeof(int));
    two_rows<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 8)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

// A thread for each element, counted through the rows.
__global__ void counted(const double *A, const double *B, double *C, int M, int N, int K)
{
    int element = blockIdx.x * blockDim.x + threadIdx.x;
    if (element >= M * N)
        return;
    double sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[element / N * K + k] * B[k * N + element % N];
    C[element] = sum;
}

int main()
{
    int M = 70, N = 90, K = 50;
    double *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(double));
    cudaMalloc(&B, K * N * sizeof(double));
    cudaMalloc(&C, M * N * sizeof(double));
    int threads = 128, blocks = M * N / threads;
    counted<<<blocks, threads>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

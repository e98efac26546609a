#include <cuda_runtime.h>
#define SLICES 3

// Each slice of K has a matrix of its own, which `sum` adds.
__global__ void slice(const double *A, const double *B, double *parts, int M, int N, int K)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N)
        return;
    double part = 0;
    for (int k = blockIdx.z; k < K; k += SLICES)
        part += A[row * K + k] * B[k * N + col];
    parts[(blockIdx.z * M + row) * N + col] = part;
}

__global__ void sum(const double *parts, double *C, int elements)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double all = 0;
    for (int s = 0; s < SLICES && i < elements; s++)
        all += parts[s * elements + i];
    if (i < elements)
        C[i] = all;
}

int main()
{
    int M = 60, N = 70, K = 80;
    double *A, *B, *C, *parts;
    cudaMalloc(&A, M * K * sizeof(double));
    cudaMalloc(&B, K * N * sizeof(double));
    cudaMalloc(&C, M * N * sizeof(double));
    cudaMalloc(&parts, SLICES * M * N * sizeof(double));
    slice<<<dim3((N + 15) / 16, (M + 15) / 16, SLICES), dim3(16, 16)>>>(A, B, parts, M, N, K);
    sum<<<(M * N + 255) / 256, 256>>>(parts, C, M * N);
    cudaDeviceSynchronize();
}

// D = alpha * A * B + beta * C, naive
#include <cstdio>
#include <cuda_runtime.h>
__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K, float alpha, float beta)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
    C[row * N + col] = alpha * s + beta * C[row * N + col];
}
int main()
{
    int M = 64, N = 96, K = 48;
    float *A, *B, *C;
    cudaMallocManaged(&A, M * K * sizeof(float));
    cudaMallocManaged(&B, K * N * sizeof(float));
    cudaMallocManaged(&C, M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) A[i] = i % 3;
    for (int i = 0; i < K * N; i++) B[i] = i % 5;
    for (int i = 0; i < M * N; i++) C[i] = 1;
    gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K, 2.0f, 0.5f);
    cudaDeviceSynchronize();
    printf("%f\n", C[0]);
    cudaFree(A); cudaFree(B); cudaFree(C);
}

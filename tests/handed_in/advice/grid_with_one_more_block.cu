#include <cuda_runtime.h>
#include <stdlib.h>

// N / 16 + 1 blocks: one more than necessary if 16 divides N.
__global__ void one_more(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

int main() {
    int M = 16, N = 16, K = 48;
    float *A, *B, *C;
    cudaMallocManaged(&A, M * K * sizeof(float));
    cudaMallocManaged(&B, K * N * sizeof(float));
    cudaMallocManaged(&C, M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) A[i] = rand() % 10;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 10;
    one_more<<<dim3(N / 16 + 1, M / 16 + 1), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

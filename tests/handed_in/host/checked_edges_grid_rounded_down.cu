#include <cuda_runtime.h>
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
}
void run(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 threads(16, 16), blocks(N / 16, M / 16);
    mm<<<blocks, threads>>>(A, B, C, M, N, K);
}

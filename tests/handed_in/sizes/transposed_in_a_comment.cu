// C = A^T * B, as normal equations need it
#include <cuda_runtime.h>

__global__ void multiply(const float *A, const float *B, float *C, int K, int M, int N) {
    int m = blockIdx.y * blockDim.y + threadIdx.y, n = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= M || n >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[k * M + m] * B[k * N + n];
    C[m * N + n] = sum;
}

int main() {
    int K = 80, M = 30, N = 40;
    float *A, *B, *C;
    cudaMalloc(&A, K * M * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    multiply<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, K, M, N);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y < M && x < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) sum += A[y * K + k] * B[k * N + x];
        C[y * N + x] = sum;
    }
}

int main() {
    int M = 300, N = 200, K = 150;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 threads(32, 8);
    dim3 blocks((M + threads.x - 1) / threads.x, (N + threads.y - 1) / threads.y);
    matmul<<<blocks, threads>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

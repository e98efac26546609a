#include <cuda_runtime.h>
#define T 16

__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int p = 0; p < (K + T - 1) / T; ++p) {
        as[threadIdx.y][threadIdx.x] = (col < M && p * T + threadIdx.x < K) ? A[row * K + p * T + threadIdx.x] : 0;
        bs[threadIdx.y][threadIdx.x] = (col < N && p * T + threadIdx.y < K) ? B[(p * T + threadIdx.y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

int main() {
    int M = 60, N = 90, K = 75;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    tiled<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

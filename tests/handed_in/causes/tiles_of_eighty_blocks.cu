#include <cuda_runtime.h>

#define T 8

__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int across = (N + T - 1) / T, down = (M + T - 1) / T;
    for (int tile = blockIdx.x; tile < across * down; tile += 80) {
        int row = tile / across * T + ty, col = tile % across * T + tx;
        float sum = 0.0f;
        for (int k0 = 0; k0 < K; k0 += T) {
            As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
            Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.0f;
            __syncthreads();
            for (int k = 0; k < T; k++) sum += As[ty][k] * Bs[k][tx];
            __syncthreads();
        }
        if (row < M && col < N) C[row * N + col] = sum;
    }
}

int main() {
    int M = 150, N = 140, K = 77;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    matmul<<<80, dim3(T, T)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

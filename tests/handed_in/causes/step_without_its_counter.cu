#include <cuda_runtime.h>
#define T 32
#define ROWS 8

__global__ void several(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float as[T][T], bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
    float sum[T / ROWS] = {};
    for (int t = 0; t < K; t += T) {
        for (int i = 0; i < T; i += ROWS) {
            as[ty + i][tx] = row + i < M && t + tx < K ? A[(row + i) * K + t + tx] : 0;
            bs[ty + i][tx] = t + ty + i < K && col < N ? B[(t + ty + i) * N + col] : 0;
        }
        __syncthreads();
        for (int k = 0; k < T; k++)
            for (int i = 0; i < T / ROWS; i++) sum[i] += as[ty + ROWS][k] * bs[k][tx];
        __syncthreads();
    }
    for (int i = 0; i < T / ROWS; i++)
        if (row + i * ROWS < M && col < N) C[(row + i * ROWS) * N + col] = sum[i];
}

int main() {
    int M = 100, N = 70, K = 90;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * 4), cudaMalloc(&B, K * N * 4), cudaMalloc(&C, M * N * 4);
    several<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, ROWS)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

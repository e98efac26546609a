#include <cuda_runtime.h>

#define T 8
#define STRIPS 2

__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty;
    float sum[STRIPS] = {};
    for (int k0 = 0; k0 < K; k0 += T) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        for (int s = 0; s < STRIPS; ++s) {
            int col = (blockIdx.x * STRIPS + s) * T + tx;
            Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : 0.0f;
            __syncthreads();
            for (int k = 0; k < T; ++k)
                sum[s] += As[ty][k] * Bs[k][tx];
        }
    }
    for (int s = 0; s < STRIPS; ++s) {
        int col = (blockIdx.x * STRIPS + s) * T + tx;
        if (row < M && col < N) C[row * N + col] = sum[s];
    }
}

int main() {
    int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 grid((N + T * STRIPS - 1) / (T * STRIPS), (M + T - 1) / T);
    matmul<<<grid, dim3(T, T)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

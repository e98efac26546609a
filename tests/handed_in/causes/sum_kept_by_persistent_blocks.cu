#include <cuda_runtime.h>
#define T 16

__global__ void persistent(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float as[T][T], bs[T][T];
    int across = (N + T - 1) / T, down = (M + T - 1) / T;
    float sum = 0;
    for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
        int row = tile / across * T + threadIdx.y, col = tile % across * T + threadIdx.x;
        for (int first = 0; first < K; first += T) {
            as[threadIdx.y][threadIdx.x] = row < M && first + threadIdx.x < K ? A[row * K + first + threadIdx.x] : 0;
            bs[threadIdx.y][threadIdx.x] = first + threadIdx.y < K && col < N ? B[(first + threadIdx.y) * N + col] : 0;
            __syncthreads();
            for (int k = 0; k < T; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
            __syncthreads();
        }
        if (row < M && col < N) C[row * N + col] = sum;
    }
}

int main() {
    int M = 128, N = 160, K = 40;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    persistent<<<24, dim3(T, T)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

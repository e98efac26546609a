#include <cuda_runtime.h>

#define T 16
#define SPLITS 4

__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K, int part) {
    __shared__ float As[T][T], Bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    int begin = blockIdx.z * part;
    int end = min(begin + part, K);
    float sum = 0.0f;
    for (int k0 = begin; k0 < end; k0 += T) {
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = row < M && ka < end ? A[row * K + ka] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = kb < end && col < N ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; k++) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) atomicAdd(&C[row * N + col], sum);
}

int main() {
    int M = 64, N = 48, K = 1000;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    cudaMemset(C, 0, M * N * sizeof(float));
    int part = (K + SPLITS - 1) / SPLITS;
    dim3 grid((N + T - 1) / T, (M + T - 1) / T, SPLITS);
    matmul<<<grid, dim3(T, T)>>>(A, B, C, M, N, K, part);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

template <typename T>
__global__ void slice(const T *A, const T *B, T *C, int M, int N, int K, int depth) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    T sum = 0;
    for (int k = blockIdx.z * depth; k < min(K, int(blockIdx.z + 1) * depth); ++k) sum += A[row * K + k] * B[k * N + col];
    atomicAdd(&C[row * N + col], sum);
}

template <typename T>
void multiply(const T *A, const T *B, T *C, int M, int N, int K) {
    cudaMemset(C, 0, M * N * sizeof(float));
    slice<T><<<dim3((N + 15) / 16, (M + 15) / 16, 4), dim3(16, 16)>>>(A, B, C, M, N, K, (K + 3) / 4);
}

int main() {
    int M = 60, N = 90, K = 75;
    double *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(double));
    cudaMalloc(&B, K * N * sizeof(double));
    cudaMalloc(&C, M * N * sizeof(double));
    multiply<double>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

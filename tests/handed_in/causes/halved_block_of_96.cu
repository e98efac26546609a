#include <cuda_runtime.h>
#define THREADS 96

__global__ void one_element_per_block(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float sums[THREADS];
    int row = blockIdx.y, col = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int k = t; k < K; k += blockDim.x) sum += A[row * K + k] * B[k * N + col];
    sums[t] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (t < half) sums[t] += sums[t + half];
        __syncthreads();
    }
    if (t == 0) C[row * N + col] = sums[0];
}

int main() {
    int M = 12, N = 10, K = 250;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    one_element_per_block<<<dim3(N, M), THREADS>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
#define THREADS 64

__device__ void last_warp(float *sums, int t) {
    sums[t] += sums[t + 32];
    sums[t] += sums[t + 16];
    sums[t] += sums[t + 8];
    sums[t] += sums[t + 4];
    sums[t] += sums[t + 2];
    sums[t] += sums[t + 1];
}

__global__ void one_element_per_block(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float sums[THREADS];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = t; k < K; k += THREADS) sum += A[blockIdx.y * K + k] * B[k * N + blockIdx.x];
    sums[t] = sum;
    __syncthreads();
    if (t < 32) last_warp(sums, t);
    if (t == 0) C[blockIdx.y * N + blockIdx.x] = sums[0];
}

int main() {
    int M = 9, N = 7, K = 130;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    one_element_per_block<<<dim3(N, M), THREADS>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

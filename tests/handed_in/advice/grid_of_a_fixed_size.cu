#include <cuda_runtime.h>
#include <stdlib.h>

// 256 blocks take the elements in turns, whatever the size: at small sizes most have none.
__global__ void in_turns(const float *A, const float *B, float *C, int M, int N, int K) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int k = 0; k < K; k++) sum += A[i / N * K + k] * B[k * N + i % N];
        C[i] = sum;
    }
}

int main() {
    int M = 1000, N = 2000, K = 500;
    float *A, *B, *C;
    cudaMallocManaged(&A, M * K * sizeof(float));
    cudaMallocManaged(&B, K * N * sizeof(float));
    cudaMallocManaged(&C, M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) A[i] = rand() % 10;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 10;
    in_turns<<<256, 256>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

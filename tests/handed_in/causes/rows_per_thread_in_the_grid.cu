#include <cuda_runtime.h>
template <int BLOCK, int PER>
__global__ void strips(const float *A, const float *B, float *C, int m, int n, int k) {
    __shared__ float b[BLOCK][BLOCK];
    int col = blockIdx.x * BLOCK + threadIdx.x, top = blockIdx.y * BLOCK * PER + threadIdx.y;
    float s[PER] = {};
    for (int t = 0; t < k; t += BLOCK) {
        b[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + col];
        __syncthreads();
        for (int p = 0; p < PER; p++)
            for (int i = 0; i < BLOCK; i++) s[p] += A[(top + p * BLOCK) * k + t + i] * b[i][threadIdx.x];
        __syncthreads();
    }
    for (int p = 0; p < PER; p++) C[(top + p * BLOCK) * n + col] = s[p];
}
int main() {
    const int m = 128, n = 64, k = 96;
    float *A, *B, *C;
    cudaMalloc(&A, m * k * sizeof(float));
    cudaMalloc(&B, k * n * sizeof(float));
    cudaMalloc(&C, m * n * sizeof(float));
    strips<16, 2><<<dim3(n / 16, m / 32), dim3(16, 16)>>>(A, B, C, m, n, k);
    cudaDeviceSynchronize();
}

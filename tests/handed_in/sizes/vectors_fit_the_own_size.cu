#include <cuda_runtime.h>
#include <cstdio>
// Each thread computes four neighbouring elements of a row with float4 loads.
__global__ void gemm4(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (row >= M || col >= N) return;
    float4 acc = make_float4(0, 0, 0, 0);
    for (int k = 0; k < K; k++) {
        float a = A[row * K + k];
        float4 b = *reinterpret_cast<const float4 *>(&B[k * N + col]);
        acc.x += a * b.x; acc.y += a * b.y; acc.z += a * b.z; acc.w += a * b.w;
    }
    *reinterpret_cast<float4 *>(&C[row * N + col]) = acc;
}
int main() {
    const int M = 96, N = 128, K = 64;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    dim3 block(8, 16);
    dim3 grid((N + 31) / 32, (M + block.y - 1) / block.y);
    gemm4<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaDeviceSynchronize();
}

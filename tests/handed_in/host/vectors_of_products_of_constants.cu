#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
constexpr int M = 512, K = 256, N = 384;
__global__ void mm(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || col >= n) return;
    float s = 0;
    for (int i = 0; i < k; i++) s += A[row * k + i] * B[i * n + col];
    C[row * n + col] = s;
}
int main() {
    std::vector<float> hA(M * K), hB(K * N), hC(M * N);
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    mm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", hC[0]);
}

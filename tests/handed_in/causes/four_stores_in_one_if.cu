#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define TW 16
// Each thread computes 2 x 2 elements of C: (row, col), (row, col + TW), (row + TW, col), (row + TW, col + TW).
__global__ void mm22(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 2 * TW + threadIdx.y;
    int col = blockIdx.x * 2 * TW + threadIdx.x;
    float c00 = 0, c01 = 0, c10 = 0, c11 = 0;
    for (int k = 0; k < K; ++k) {
        float a0 = row < M ? A[row * K + k] : 0.0f;
        float a1 = row + TW < M ? A[(row + TW) * K + k] : 0.0f;
        float b0 = col < N ? B[k * N + col] : 0.0f;
        float b1 = col + TW < N ? B[k * N + col + TW] : 0.0f;
        c00 += a0 * b0; c01 += a0 * b1; c10 += a1 * b0; c11 += a1 * b1;
    }
    if (row < M && col < N) {
        C[row * N + col] = c00;
        C[row * N + col + TW] = c01;
        C[(row + TW) * N + col] = c10;
        C[(row + TW) * N + col + TW] = c11;
    }
}
int main() {
    int M = 200, N = 300, K = 100;
    size_t a = M * K * sizeof(float), b = K * N * sizeof(float), c = M * N * sizeof(float);
    float *hA = (float *)malloc(a), *hB = (float *)malloc(b), *hC = (float *)malloc(c);
    for (int i = 0; i < M * K; ++i) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; ++i) hB[i] = rand() / (float)RAND_MAX;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, a); cudaMalloc(&dB, b); cudaMalloc(&dC, c);
    cudaMemcpy(dA, hA, a, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, b, cudaMemcpyHostToDevice);
    dim3 block(TW, TW), grid((N + 2 * TW - 1) / (2 * TW), (M + 2 * TW - 1) / (2 * TW));
    mm22<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC, dC, c, cudaMemcpyDeviceToHost);
    printf("%f\n", hC[0]);
    return 0;
}

#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

// tiles of 16
#define TILE 16
__global__ void sgemm_two(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.0f;
        Bs[ty][tx] = (k0 + ty < K && col < N) ? B[(k0 + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += As[ty][k] * Bs[k][tx];
    }
    if (row < M && col < N) C[row * N + col] = alpha * sum + C[row * N + col];
}

void cpuSgemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0.0f;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = alpha * s + beta * C[i * N + j];
        }
}

int main() {
    const int M = 256, N = 256, K = 256;
    const float alpha = 0.5f, beta = 3.0f;
    size_t sizeA = (size_t)M * K * sizeof(float), sizeB = (size_t)K * N * sizeof(float), sizeC = (size_t)M * N * sizeof(float);
    float *h_A = (float *)malloc(sizeA), *h_B = (float *)malloc(sizeB), *h_C = (float *)malloc(sizeC), *h_ref = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < M * N; i++) h_ref[i] = h_C[i] = rand() / (float)RAND_MAX;

    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, sizeA);
    cudaMalloc(&d_B, sizeB);
    cudaMalloc(&d_C, sizeC);
    cudaMemcpy(d_A, h_A, sizeA, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, sizeB, cudaMemcpyHostToDevice);
    cudaMemcpy(d_C, h_C, sizeC, cudaMemcpyHostToDevice);

    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    sgemm_two<<<grid, block>>>(M, N, K, alpha, d_A, d_B, beta, d_C);
    cudaDeviceSynchronize();
    cudaMemcpy(h_C, d_C, sizeC, cudaMemcpyDeviceToHost);

    cpuSgemm(M, N, K, alpha, h_A, h_B, beta, h_ref);
    float worst = 0.0f;
    for (int i = 0; i < M * N; i++) worst = fmaxf(worst, fabsf(h_C[i] - h_ref[i]));
    printf("largest difference %g: %s\n", worst, worst < 1e-3f ? "OK" : "WRONG");
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C); free(h_ref);
    return 0;
}

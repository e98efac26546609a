// Sound: one thread for each element; the sizes are constants of the file.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

const int M = 257;
const int N = 129;
const int K = 65;

#define BLOCK 32

__global__ void matmul(const float *A, const float *B, float *C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

int main()
{
    float *hA = (float *)malloc(M * K * sizeof(float));
    float *hB = (float *)malloc(K * N * sizeof(float));
    float *hC = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dA, hA, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, K * N * sizeof(float), cudaMemcpyHostToDevice);

    dim3 block(BLOCK, BLOCK);
    dim3 grid((N + BLOCK - 1) / BLOCK, (M + BLOCK - 1) / BLOCK);
    matmul<<<grid, block>>>(dA, dB, dC);
    cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);

    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)hA[i * K + k] * hB[k * N + j];
            worst = fmax(worst, fabs(s - hC[i * N + j]));
        }
    printf("largest error %g: %s\n", worst, worst < 1e-3 ? "ok" : "WRONG");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC);
    return 0;
}

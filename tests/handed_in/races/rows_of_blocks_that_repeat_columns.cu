// a) again for any M, N, K: a thread computes a row, a column
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

__global__ void matmul_row(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M) return;
    for (int col = 0; col < N; col++) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

__global__ void matmul_col(const float *A, const float *B, float *C, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= N) return;
    for (int row = 0; row < M; row++) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

int main(int argc, char **argv) {
    int M = 640, N = 650, K = 320;
    if (argc > 3) { M = atoi(argv[1]); N = atoi(argv[2]); K = atoi(argv[3]); }
    float *A = (float *)malloc(M * K * sizeof(float));
    float *B = (float *)malloc(K * N * sizeof(float));
    float *C = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) A[i] = (float)(rand() % 10);
    for (int i = 0; i < K * N; i++) B[i] = (float)(rand() % 10);
    float *dA, *dB, *dC;
    cudaMalloc((void **)&dA, M * K * sizeof(float));
    cudaMalloc((void **)&dB, K * N * sizeof(float));
    cudaMalloc((void **)&dC, M * N * sizeof(float));
    cudaMemcpy(dA, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, K * N * sizeof(float), cudaMemcpyHostToDevice);
    for (int v = 0; v < 2; v++) {
        int threads = 128;
        int blocks = (M + threads - 1) / threads;
        if (v == 0) matmul_row<<<blocks, threads>>>(dA, dB, dC, M, N, K);
        else        matmul_col<<<dim3((N + 127) / 128, (M + 127) / 128), threads>>>(dA, dB, dC, M, N, K);
        cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
        int bad = 0;
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float s = 0;
                for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
                if (fabs(s - C[i * N + j]) > 1e-3) bad++;
            }
        printf("%s: %d wrong\n", v ? "col" : "row", bad);
    }
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C);
    return 0;
}

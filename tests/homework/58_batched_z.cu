// Batched multiplication of many small matrices: C[b] = A[b] * B[b],
// blockIdx.z selects the matrix of the batch.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define BDIM 8
#define MIN(a, b) ((a) < (b) ? (a) : (b))

__global__ void batchedMatMul(int M, int N, int K,
                              const float *A, long strideA,
                              const float *B, long strideB,
                              float *C, long strideC)
{
    __shared__ float s_a[BDIM][BDIM];
    __shared__ float s_b[BDIM][BDIM];

    A += blockIdx.z * strideA;
    B += blockIdx.z * strideB;
    C += blockIdx.z * strideC;

    int m = blockIdx.y * BDIM + threadIdx.y;
    int n = blockIdx.x * BDIM + threadIdx.x;
    float acc = 0.0f;

    for (int k0 = 0; k0 < K; k0 += BDIM) {
        /* clamp the address, and zero the value where the real index is outside */
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        float va = A[MIN(m, M - 1) * K + MIN(ka, K - 1)];
        float vb = B[MIN(kb, K - 1) * N + MIN(n, N - 1)];
        s_a[threadIdx.y][threadIdx.x] = ka < K ? va : 0.0f;
        s_b[threadIdx.y][threadIdx.x] = kb < K ? vb : 0.0f;
        __syncthreads();
        for (int k = 0; k < BDIM; k++)
            acc += s_a[threadIdx.y][k] * s_b[k][threadIdx.x];
        __syncthreads();
    }
    if (m < M && n < N)
        C[m * N + n] = acc;
}

int main(void)
{
    const int batch = 100, M = 20, N = 31, K = 13;
    const long sA = M * K, sB = K * N, sC = M * N;
    float *A = (float *)malloc(batch * sA * sizeof(float));
    float *B = (float *)malloc(batch * sB * sizeof(float));
    float *C = (float *)malloc(batch * sC * sizeof(float));
    float *dA, *dB, *dC;
    for (long i = 0; i < batch * sA; i++) A[i] = (float)(rand() % 16);
    for (long i = 0; i < batch * sB; i++) B[i] = (float)(rand() % 16);

    cudaMalloc((void **)&dA, batch * sA * sizeof(float));
    cudaMalloc((void **)&dB, batch * sB * sizeof(float));
    cudaMalloc((void **)&dC, batch * sC * sizeof(float));
    cudaMemcpy(dA, A, batch * sA * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, batch * sB * sizeof(float), cudaMemcpyHostToDevice);

    dim3 threads(BDIM, BDIM);
    dim3 blocks;
    blocks.x = (N + BDIM - 1) / BDIM;
    blocks.y = (M + BDIM - 1) / BDIM;
    blocks.z = batch;
    batchedMatMul<<<blocks, threads>>>(M, N, K, dA, sA, dB, sB, dC, sC);
    cudaMemcpy(C, dC, batch * sC * sizeof(float), cudaMemcpyDeviceToHost);

    int nerr = 0;
    for (int b = 0; b < batch; b++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                float s = 0;
                for (int k = 0; k < K; k++)
                    s += A[b * sA + i * K + k] * B[b * sB + k * N + j];
                if (s != C[b * sC + i * N + j]) nerr++;
            }
    printf("batch of %d: %d errors\n", batch, nerr);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C);
    return nerr > 0;
}

/*
 * Exercise 1b: tiled matrix multiplication with shared memory
 * P = M_ * N_   (a x b times b x c)
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define TILE 16

static void gpuAssert(cudaError_t e, const char *what)
{
    if (e != cudaSuccess) { printf("%s failed: %s\n", what, cudaGetErrorString(e)); exit(EXIT_FAILURE); }
}

__global__ void tiledMM(float *A, float *B, float *C, int M, int K, int N)
{
    __shared__ float sA[TILE][TILE];
    __shared__ float sB[TILE][TILE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float acc = 0;

    // go over all tiles of K
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        // load one element each, zeros outside
        if (row < M && t * TILE + tx < K)
            sA[ty][tx] = A[row * K + t * TILE + tx];
        else
            sA[ty][tx] = 0;
        if (col < N && t * TILE + ty < K)
            sB[ty][tx] = B[(t * TILE + ty) * N + col];
        else
            sB[ty][tx] = 0;
        __syncthreads();

        for (int k = 0; k < TILE; ++k)
            acc += sA[ty][k] * sB[k][tx];
        __syncthreads();
    }

    if (row < M && col < N)
        C[row * N + col] = acc;
}

int main(int argc, char **argv)
{
    int M = 300, K = 200, N = 150;

    float *A = new float[M * K], *B = new float[K * N], *C = new float[M * N];
    for (int i = 0; i < M * K; ++i) A[i] = (float)(i % 7) - 3;
    for (int i = 0; i < K * N; ++i) B[i] = (float)(i % 5) - 2;

    float *A_d, *B_d, *C_d;
    gpuAssert(cudaMalloc((void **)&A_d, M * K * sizeof(float)), "malloc A");
    gpuAssert(cudaMalloc((void **)&B_d, K * N * sizeof(float)), "malloc B");
    gpuAssert(cudaMalloc((void **)&C_d, M * N * sizeof(float)), "malloc C");
    cudaMemcpy(A_d, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(B_d, B, K * N * sizeof(float), cudaMemcpyHostToDevice);

    dim3 dimBlock(TILE, TILE);
    dim3 dimGrid((N - 1) / TILE + 1, (M - 1) / TILE + 1);

    cudaEvent_t t0, t1;
    cudaEventCreate(&t0);
    cudaEventCreate(&t1);

    tiledMM<<<dimGrid, dimBlock>>>(A_d, B_d, C_d, M, K, N);     // warm-up
    cudaEventRecord(t0);
    for (int i = 0; i < 10; ++i)
        tiledMM<<<dimGrid, dimBlock>>>(A_d, B_d, C_d, M, K, N);
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    gpuAssert(cudaGetLastError(), "kernel");

    float ms = 0;
    cudaEventElapsedTime(&ms, t0, t1);
    printf("time per launch: %f ms\n", ms / 10);

    cudaMemcpy(C, C_d, M * N * sizeof(float), cudaMemcpyDeviceToHost);

    int bad = 0;
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            double s = 0;
            for (int k = 0; k < K; ++k) s += (double)A[i * K + k] * B[k * N + j];
            if (fabs(s - C[i * N + j]) > 1e-3) bad++;
        }
    printf(bad ? "FAILED: %d wrong\n" : "PASSED\n", bad);

    cudaFree(A_d); cudaFree(B_d); cudaFree(C_d);
    delete[] A; delete[] B; delete[] C;
    return bad != 0;
}

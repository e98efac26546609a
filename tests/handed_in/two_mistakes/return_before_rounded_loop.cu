// Wrong: threads return before the barrier, and K / BLOCK_SIZE is rounded down.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 32

#define CHECK(call) do { cudaError_t err = (call); if (err != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); exit(1); } } while (0)

__global__ void gemmShared(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BLOCK_SIZE + ty;
    int col = blockIdx.x * BLOCK_SIZE + tx;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    int tiles = K / BLOCK_SIZE;
    for (int t = 0; t < tiles; t++) {
        As[ty][tx] = A[row * K + t * BLOCK_SIZE + tx];
        Bs[ty][tx] = B[(t * BLOCK_SIZE + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; k++)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

int main(int argc, char **argv)
{
    int M = 300, N = 200, K = 250;
    if (argc == 4) {
        M = atoi(argv[1]);
        N = atoi(argv[2]);
        K = atoi(argv[3]);
    }
    size_t bytesA = (size_t)M * K * sizeof(float);
    size_t bytesB = (size_t)K * N * sizeof(float);
    size_t bytesC = (size_t)M * N * sizeof(float);
    float *h_A = (float *)malloc(bytesA), *h_B = (float *)malloc(bytesB), *h_C = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) h_A[i] = (float)(i % 7) - 3.0f;
    for (int i = 0; i < K * N; i++) h_B[i] = (float)(i % 5) - 2.0f;
    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, bytesA));
    CHECK(cudaMalloc(&d_B, bytesB));
    CHECK(cudaMalloc(&d_C, bytesC));
    CHECK(cudaMemcpy(d_A, h_A, bytesA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, bytesB, cudaMemcpyHostToDevice));
    dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid((N + BLOCK_SIZE - 1) / BLOCK_SIZE, (M + BLOCK_SIZE - 1) / BLOCK_SIZE);
    gemmShared<<<grid, block>>>(d_A, d_B, d_C, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, bytesC, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0.0f;
            for (int k = 0; k < K; k++) s += h_A[i * K + k] * h_B[k * N + j];
            if (fabsf(s - h_C[i * N + j]) > 1e-3f) wrong++;
        }
    printf("%d wrong elements\n", wrong);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C);
    return wrong != 0;
}

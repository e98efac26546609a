// Exercise 5: A is stored transposed, At is K x M  (At[k][m]), C = At^T * B
// first try: naive, then the tiled kernel with corner turning below
#include <stdio.h>
#include <stdlib.h>
#include <assert.h>

#define BLOCK 16

// At: K x M, B: K x N, C: M x N
__global__ void atb_naive(const float *At, const float *B, float *C, int M, int N, int K)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float acc = 0.f;
    for (int k = 0; k < K; k++)
        acc += At[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}

__global__ void atb_tiled(const float *At, const float *B, float *C, int M, int N, int K)
{
    __shared__ float sA[BLOCK][BLOCK];   // sA[k][m]
    __shared__ float sB[BLOCK][BLOCK];   // sB[k][n]
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * BLOCK, col0 = blockIdx.x * BLOCK;
    float acc = 0.f;
    for (int k0 = 0; k0 < K; k0 += BLOCK) {
        // corner turning: tx runs along m, which is contiguous in At
        sA[ty][tx] = (k0 + ty < K && row0 + tx < M) ? At[(k0 + ty) * M + row0 + tx] : 0.f;
        sB[ty][tx] = (k0 + ty < K && col0 + tx < N) ? B[(k0 + ty) * N + col0 + tx] : 0.f;
        __syncthreads();
        for (int k = 0; k < BLOCK; k++)
            acc += sA[k][ty] * sB[k][tx];
        __syncthreads();
    }
    if (row0 + ty < M && col0 + tx < N) C[(row0 + ty) * N + col0 + tx] = acc;
}

int main(void)
{
    int M = 200, K = 100, N = 256;
    float *At = (float *)malloc(K * M * sizeof(float));
    float *B = (float *)malloc(K * N * sizeof(float));
    float *C = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < K * M; i++) At[i] = i % 7;
    for (int i = 0; i < K * N; i++) B[i] = i % 5;
    float *dAt, *dB, *dC;
    cudaMalloc(&dAt, K * M * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dAt, At, K * M * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, K * N * sizeof(float), cudaMemcpyHostToDevice);
    dim3 threads(BLOCK, BLOCK);
    dim3 blocks((N + BLOCK - 1) / BLOCK, (M + BLOCK - 1) / BLOCK);
    atb_naive<<<blocks, threads>>>(dAt, dB, dC, M, N, K);
    atb_tiled<<<blocks, threads>>>(dAt, dB, dC, M, N, K);
    cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    float ref = 0;
    for (int k = 0; k < K; k++) ref += At[k * M + 199] * B[k * N + 255];
    printf("C[199][255] = %f, should be %f\n", C[199 * N + 255], ref);
    assert(C[199 * N + 255] == ref);
    return 0;
}

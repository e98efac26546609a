// Sound: a tiled kernel with half inputs; each branch of an if stores to the tile.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

const int M = 257, N = 129, K = 65;
#define TILE 16

__global__ void matmulHalf(const half *A, const half *B, float *C, int m, int n, int k)
{
    __shared__ half As[TILE][TILE];
    __shared__ half Bs[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    A += blockIdx.y * TILE * k;
    B += blockIdx.x * TILE;

    float sum = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        if (row < m && t + tx < k)
            As[ty][tx] = A[ty * k + tx];
        else
            As[ty][tx] = __float2half(0.0f);
        if (t + ty < k && col < n)
            Bs[ty][tx] = B[ty * n + tx];
        else
            Bs[ty][tx] = __float2half(0.0f);
        __syncthreads();

        for (int i = 0; i < TILE; i++)
            sum += __half2float(As[ty][i]) * __half2float(Bs[i][tx]);
        __syncthreads();

        A += TILE;
        B += TILE * n;
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

int main()
{
    half *hA = new half[M * K], *hB = new half[K * N];
    float *hC = new float[M * N];
    for (int i = 0; i < M * K; i++) hA[i] = __float2half(rand() / (float)RAND_MAX);
    for (int i = 0; i < K * N; i++) hB[i] = __float2half(rand() / (float)RAND_MAX);

    half *dA, *dB;
    float *dC;
    cudaMalloc(&dA, M * K * sizeof(half));
    cudaMalloc(&dB, K * N * sizeof(half));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dA, hA, M * K * sizeof(half), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, K * N * sizeof(half), cudaMemcpyHostToDevice);

    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmulHalf<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);

    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int l = 0; l < K; l++)
                s += (double)__half2float(hA[i * K + l]) * __half2float(hB[l * N + j]);
            worst = fmax(worst, fabs(s - hC[i * N + j]));
        }
    printf("largest error %g\n", worst);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    delete[] hA; delete[] hB; delete[] hC;
}

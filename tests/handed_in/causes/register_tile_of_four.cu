// Assignment 3b: register tiling 2D, each thread computes R x R results
#include <cstdio>
#include <cstdlib>
#include <cmath>

#ifndef TILE
#define TILE 64            // edge of the tile of C
#endif
#define TK 16              // depth of a tile
#define R 4                // a thread computes R x R
#define T (TILE / R)       // threads along an edge

__global__ void matmulReg2D(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float sA[TILE][TK];
    __shared__ float sB[TK][TILE];

    const int tid = threadIdx.y * T + threadIdx.x;
    const int rowStart = blockIdx.y * TILE;
    const int colStart = blockIdx.x * TILE;

    float acc[R][R] = {};
    float ra[R], rb[R];

    for (int k0 = 0; k0 < K; k0 += TK) {
        for (int e = tid; e < TILE * TK; e += T * T) {
            int r = e / TK, c = e % TK;
            sA[r][c] = (rowStart + r < M && k0 + c < K) ? A[(rowStart + r) * K + k0 + c] : 0.0f;
        }
        for (int e = tid; e < TK * TILE; e += T * T) {
            int r = e / TILE, c = e % TILE;
            sB[r][c] = (k0 + r < K && colStart + c < N) ? B[(k0 + r) * N + colStart + c] : 0.0f;
        }
        __syncthreads();

        for (int p = 0; p < TK; p++) {
            for (int i = 0; i < R; i++) ra[i] = sA[threadIdx.y * R + i][p];
            for (int j = 0; j < R; j++) rb[j] = sB[p][threadIdx.x * R + j];
            for (int i = 0; i < R; i++)
                for (int j = 0; j < R; j++)
                    acc[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }

    for (int i = 0; i < R; i++)
        for (int j = 0; j < R; j++) {
            int row = rowStart + threadIdx.y * R + i;
            int col = colStart + threadIdx.x * R + j;
            if (row < M && col < N)
                C[row * N + col] = acc[i][j];
        }
}

int main()
{
    const int M = 250, K = 130, N = 190;
    size_t sa = M * K * sizeof(float), sb = K * N * sizeof(float), sc = M * N * sizeof(float);
    float *A = (float *)malloc(sa), *B = (float *)malloc(sb), *C = (float *)malloc(sc);
    for (int i = 0; i < M * K; i++) A[i] = rand() % 8;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 8;
    float *devA, *devB, *devC;
    cudaMalloc(&devA, sa);
    cudaMalloc(&devB, sb);
    cudaMalloc(&devC, sc);
    cudaMemcpy(devA, A, sa, cudaMemcpyHostToDevice);
    cudaMemcpy(devB, B, sb, cudaMemcpyHostToDevice);
    dim3 threads(T, T);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmulReg2D<<<blocks, threads>>>(devA, devB, devC, M, K, N);
    cudaMemcpy(C, devC, sc, cudaMemcpyDeviceToHost);
    printf("%f\n", C[M * N - 1]);
    cudaFree(devA); cudaFree(devB); cudaFree(devC);
    free(A); free(B); free(C);
}

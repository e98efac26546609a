// Assignment 5: M is m x k, N is k x n, P is m x n
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define TILE_WIDTH 16

#define cudaCheck(x) { cudaError_t err = (x); if (err != cudaSuccess) { \
    printf("CUDA error %s at line %d\n", cudaGetErrorString(err), __LINE__); return 1; } }

__global__ void rectMatMul(const float *M, const float *N, float *P, int m, int k, int n) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int ph = 0; ph < (k - 1) / TILE_WIDTH + 1; ph++) {
        int mc = ph * TILE_WIDTH + tx;
        int nr = ph * TILE_WIDTH + ty;
        if (row < m && mc < k) Mds[ty][tx] = M[row * k + mc];
        else                   Mds[ty][tx] = 0.0f;
        if (nr < k && col < n) Nds[ty][tx] = N[nr * k + col];
        else                   Nds[ty][tx] = 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; i++) sum += Mds[ty][i] * Nds[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) P[row * n + col] = sum;
}

int main(int argc, char **argv) {
    int m = 300, k = 200, n = 500;
    if (argc == 4) { m = atoi(argv[1]); k = atoi(argv[2]); n = atoi(argv[3]); }
    size_t sizeM = m * k * sizeof(float), sizeN = k * n * sizeof(float), sizeP = m * n * sizeof(float);
    float *h_M = (float *)malloc(sizeM), *h_N = (float *)malloc(sizeN), *h_P = (float *)malloc(sizeP);
    for (int i = 0; i < m * k; i++) h_M[i] = (float)rand() / RAND_MAX;
    for (int i = 0; i < k * n; i++) h_N[i] = (float)rand() / RAND_MAX;

    float *d_M, *d_N, *d_P;
    cudaCheck(cudaMalloc((void **)&d_M, sizeM));
    cudaCheck(cudaMalloc((void **)&d_N, sizeN));
    cudaCheck(cudaMalloc((void **)&d_P, sizeP));
    cudaCheck(cudaMemcpy(d_M, h_M, sizeM, cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(d_N, h_N, sizeN, cudaMemcpyHostToDevice));

    dim3 grid((n - 1) / TILE_WIDTH + 1, (m - 1) / TILE_WIDTH + 1);
    dim3 block(TILE_WIDTH, TILE_WIDTH);
    rectMatMul<<<grid, block>>>(d_M, d_N, d_P, m, k, n);
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaDeviceSynchronize());
    cudaCheck(cudaMemcpy(h_P, d_P, sizeP, cudaMemcpyDeviceToHost));

    int errors = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int l = 0; l < k; l++) s += h_M[i * k + l] * h_N[l * n + j];
            if (fabsf(s - h_P[i * n + j]) > 1e-3f * fabsf(s)) errors++;
        }
    printf("%d errors\n", errors);
    cudaFree(d_M); cudaFree(d_N); cudaFree(d_P);
    free(h_M); free(h_N); free(h_P);
    return errors != 0;
}

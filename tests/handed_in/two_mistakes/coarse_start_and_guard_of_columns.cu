// Wrong: the start of the columns lacks its factor, and the store its guard.
// coarsened matrix multiplication, second try
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define TILE_WIDTH 32
#define COARSE_FACTOR 4

__global__ void matrixMulCoarse(float *M, float *N, float *P, int m, int k_, int n) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int bx = blockIdx.x, by = blockIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = by * TILE_WIDTH + ty;
    int colStart = bx * TILE_WIDTH + tx;

    float Pvalue[COARSE_FACTOR];
    for (int c = 0; c < COARSE_FACTOR; ++c)
        Pvalue[c] = 0.0f;

    for (int ph = 0; ph < (k_ + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
        // the tile of M is loaded once
        if (row < m && ph * TILE_WIDTH + tx < k_)
            Mds[ty][tx] = M[row * k_ + ph * TILE_WIDTH + tx];
        else
            Mds[ty][tx] = 0.0f;

        for (int c = 0; c < COARSE_FACTOR; ++c) {
            int col = colStart + c * TILE_WIDTH;
            if (ph * TILE_WIDTH + ty < k_ && col < n)
                Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * n + col];
            else
                Nds[ty][tx] = 0.0f;
            __syncthreads();

            for (int k = 0; k < TILE_WIDTH; ++k)
                Pvalue[c] += Mds[ty][k] * Nds[k][tx];
            __syncthreads();
        }
    }

    for (int c = 0; c < COARSE_FACTOR; ++c) {
        int col = colStart + c * TILE_WIDTH;
        if (row < m)
            P[row * n + col] = Pvalue[c];
    }
}

int main() {
    int m = 260, k = 200, n = 520;
    float *h_M = (float *)malloc(m * k * sizeof(float));
    float *h_N = (float *)malloc(k * n * sizeof(float));
    float *h_P = (float *)malloc(m * n * sizeof(float));
    for (int i = 0; i < m * k; i++) h_M[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < k * n; i++) h_N[i] = rand() / (float)RAND_MAX - 0.5f;

    float *d_M, *d_N, *d_P;
    cudaMalloc(&d_M, m * k * sizeof(float));
    cudaMalloc(&d_N, k * n * sizeof(float));
    cudaMalloc(&d_P, m * n * sizeof(float));
    cudaMemcpy(d_M, h_M, m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_N, h_N, k * n * sizeof(float), cudaMemcpyHostToDevice);

    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH);
    dim3 dimGrid((n + TILE_WIDTH * COARSE_FACTOR - 1) / (TILE_WIDTH * COARSE_FACTOR),
                 (m + TILE_WIDTH - 1) / TILE_WIDTH);
    matrixMulCoarse<<<dimGrid, dimBlock>>>(d_M, d_N, d_P, m, k, n);
    cudaDeviceSynchronize();
    cudaMemcpy(h_P, d_P, m * n * sizeof(float), cudaMemcpyDeviceToHost);

    double maxErr = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int x = 0; x < k; x++) s += h_M[i * k + x] * h_N[x * n + j];
            maxErr = fmax(maxErr, fabs(s - h_P[i * n + j]));
        }
    printf("max error %g\n", maxErr);
    cudaFree(d_M); cudaFree(d_N); cudaFree(d_P);
    free(h_M); free(h_N); free(h_P);
}

#include <cuda_runtime.h>
#include <stdio.h>
#define TILE_WIDTH 32
#define COARSE_FACTOR 4
__global__ void matrixMulKernel(float *M, float *N, float *P, int width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int row = by * TILE_WIDTH + ty;
    int colStart = bx * TILE_WIDTH + tx;
    float Pvalue[COARSE_FACTOR];
    for (int c = 0; c < COARSE_FACTOR; ++c) Pvalue[c] = 0.0f;
    for (int ph = 0; ph < width / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = M[row * width + ph * TILE_WIDTH + tx];
        for (int c = 0; c < COARSE_FACTOR; ++c) {
            int col = colStart + c * TILE_WIDTH;
            Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * width + col];
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH; ++k) Pvalue[c] += Mds[ty][k] * Nds[k][tx];
            __syncthreads();
        }
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) {
        int col = colStart + c * TILE_WIDTH;
        P[row * width + col] = Pvalue[c];
    }
}
int main() {
    const int width = 512;
    float *M, *N, *P;
    cudaMallocManaged(&M, width * width * sizeof(float));
    cudaMallocManaged(&N, width * width * sizeof(float));
    cudaMallocManaged(&P, width * width * sizeof(float));
    for (int i = 0; i < width * width; i++) { M[i] = 1.0f; N[i] = 2.0f; }
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    dim3 dimGrid(width / (TILE_WIDTH * COARSE_FACTOR), width / TILE_WIDTH, 1);
    matrixMulKernel<<<dimGrid, dimBlock>>>(M, N, P, width);
    cudaDeviceSynchronize();
    printf("%f\n", P[0]);
}

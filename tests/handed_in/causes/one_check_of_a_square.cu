// Assignment 6b: forgot one boundary check
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define TILE_WIDTH 16

__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int Col = blockIdx.x * TILE_WIDTH + tx;
    float Pvalue = 0;
    int numTiles = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    for (int ph = 0; ph < numTiles; ++ph) {
        int mCol = ph * TILE_WIDTH + tx;
        int nRow = ph * TILE_WIDTH + ty;
        Mds[ty][tx] = (Row < Width && mCol < Width) ? M[Row * Width + mCol] : 0.0f;
        Nds[ty][tx] = Col < Width ? N[nRow * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            Pvalue += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }
    if (Row < Width && Col < Width) {
        P[Row * Width + Col] = Pvalue;
    }
}

int main() {
    int Width = 1000;
    int size = Width * Width * sizeof(float);
    float *M = (float *)malloc(size), *N = (float *)malloc(size), *P = (float *)malloc(size);
    for (int i = 0; i < Width * Width; i++) { M[i] = 1.0f * (i % 7); N[i] = 0.5f * (i % 5); }
    float *Md, *Nd, *Pd;
    cudaMalloc((void **)&Md, size);
    cudaMemcpy(Md, M, size, cudaMemcpyHostToDevice);
    cudaMalloc((void **)&Nd, size);
    cudaMemcpy(Nd, N, size, cudaMemcpyHostToDevice);
    cudaMalloc((void **)&Pd, size);
    dim3 dimGrid(ceil(Width / (float)TILE_WIDTH), ceil(Width / (float)TILE_WIDTH), 1);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    MatrixMulKernel<<<dimGrid, dimBlock>>>(Md, Nd, Pd, Width);
    cudaMemcpy(P, Pd, size, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < Width; i++)
        for (int j = 0; j < Width; j++) {
            float s = 0;
            for (int k = 0; k < Width; k++) s += M[i * Width + k] * N[k * Width + j];
            if (fabs(s - P[i * Width + j]) > 1e-2) bad++;
        }
    printf("bad: %d\n", bad);
    cudaFree(Md); cudaFree(Nd); cudaFree(Pd);
}

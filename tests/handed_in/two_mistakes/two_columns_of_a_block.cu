// exercise 4, variant: one Md tile, then two Nd tiles one after the other in the same shared array
#include <stdio.h>
#include <stdlib.h>
#include <cuda.h>

#define TILE_WIDTH 16

__global__ void MatrixMulTwo(float* Md, float* Nd, float* Pd, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row  = blockIdx.y * TILE_WIDTH + ty;
    int Col1 = blockIdx.x * (2 * TILE_WIDTH) + tx;
    int Col2 = Col1 + TILE_WIDTH;
    float P1 = 0, P2 = 0;

    for (int m = 0; m < Width / TILE_WIDTH; m++) {
        Mds[ty][tx] = Md[Row * Width + m * TILE_WIDTH + tx];
        Nds[ty][tx] = Nd[(m * TILE_WIDTH + ty) * Width + Col1];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            P1 += Mds[ty][k] * Nds[k][tx];
        __syncthreads();

        Nds[ty][tx] = Nd[(m * TILE_WIDTH + ty) * Width + Col2];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            P2 += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    Pd[Row * Width + Col1] = P1;
    Pd[Row * Width + Col2] = P2;
}

int main()
{
    int Width = 240;
    int bytes = Width * Width * sizeof(float);
    float *M, *N, *P, *Md, *Nd, *Pd;
    M = (float *)malloc(bytes); N = (float *)malloc(bytes); P = (float *)malloc(bytes);
    for (int i = 0; i < Width * Width; i++) { M[i] = 1; N[i] = 2; }
    cudaMalloc((void **)&Md, bytes);
    cudaMalloc((void **)&Nd, bytes);
    cudaMalloc((void **)&Pd, bytes);
    cudaMemcpy(Md, M, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(Nd, N, bytes, cudaMemcpyHostToDevice);

    dim3 block(TILE_WIDTH, TILE_WIDTH);
    dim3 grid(Width / (2 * TILE_WIDTH), Width / TILE_WIDTH);
    MatrixMulTwo<<<grid, block>>>(Md, Nd, Pd, Width);

    cudaMemcpy(P, Pd, bytes, cudaMemcpyDeviceToHost);
    printf("P[0][0] = %f (expected %d)\n", P[0], 2 * Width);
    printf("P[last] = %f (expected %d)\n", P[Width * Width - 1], 2 * Width);
    cudaFree(Md); cudaFree(Nd); cudaFree(Pd);
    free(M); free(N); free(P);
    return 0;
}

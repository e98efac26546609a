#include <stdio.h>
#define TILE_WIDTH 32
#define COARSE_FACTOR 4

__global__ void matMulCoarse(float* M, float* N, float* P, int width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int row = by*TILE_WIDTH + ty;
    int colStart = bx*TILE_WIDTH*COARSE_FACTOR + tx;

    float Pvalue[COARSE_FACTOR];
    for (int c = 0; c < COARSE_FACTOR; ++c)
        Pvalue[c] = 0.0f;

    for (int ph = 0; ph < (width + TILE_WIDTH - 1)/TILE_WIDTH; ++ph) {
        Mds[ty][tx] = (row < width && ph*TILE_WIDTH + tx < width) ? M[row*width + ph*TILE_WIDTH + tx] : 0.0f;

        for (int c = 0; c < COARSE_FACTOR; ++c) {
            int col = colStart + c;
            Nds[ty][tx] = (ph*TILE_WIDTH + ty < width && col < width) ? N[(ph*TILE_WIDTH + ty)*width + col] : 0.0f;
            __syncthreads();

            for (int k = 0; k < TILE_WIDTH; ++k)
                Pvalue[c] += Mds[ty][k]*Nds[k][tx];
            __syncthreads();
        }
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) {
        int col = colStart + c;
        if (row < width && col < width)
            P[row*width + col] = Pvalue[c];
    }
}

int main()
{
    int width = 2048;
    float *M_d, *N_d, *P_d;
    size_t bytes = (size_t)width*width*sizeof(float);
    cudaMalloc((void**)&M_d, bytes);
    cudaMalloc((void**)&N_d, bytes);
    cudaMalloc((void**)&P_d, bytes);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH);
    dim3 dimGrid((width + TILE_WIDTH*COARSE_FACTOR - 1)/(TILE_WIDTH*COARSE_FACTOR), (width + TILE_WIDTH - 1)/TILE_WIDTH);
    matMulCoarse<<<dimGrid, dimBlock>>>(M_d, N_d, P_d, width);
    cudaDeviceSynchronize();
    return 0;
}

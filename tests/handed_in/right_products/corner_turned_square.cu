#include <stdio.h>
#define TILE_WIDTH 32
// M row-major, N column-major
__global__ void mm(float *M, float *N, float *P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty;
    int Col = bx * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < Width/TILE_WIDTH; ++ph) {
        Mds[ty][tx] = M[Row*Width + ph*TILE_WIDTH + tx];
        Nds[tx][ty] = N[(bx*TILE_WIDTH + ty)*Width + ph*TILE_WIDTH + tx];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    P[Row*Width + Col] = Pvalue;
}
int main() {
    int Width = 512;
    float *M, *N, *P;
    cudaMalloc(&M, Width*Width*sizeof(float));
    cudaMalloc(&N, Width*Width*sizeof(float));
    cudaMalloc(&P, Width*Width*sizeof(float));
    dim3 b(TILE_WIDTH, TILE_WIDTH), g(Width/TILE_WIDTH, Width/TILE_WIDTH);
    mm<<<g, b>>>(M, N, P, Width);
    cudaDeviceSynchronize();
}

// Thread coarsening: a block computes four tiles of P side by side, but the grid has a block for each tile
#include <cstdio>
#include <cuda_runtime.h>
#define TILE_WIDTH 16
#define COARSE_FACTOR 4

__global__ void coarse(const float *M, const float *N, float *P, int rows, int inner, int columns) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int start = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;
    float sums[COARSE_FACTOR] = {0};
    for (int p = 0; p < (inner + TILE_WIDTH - 1) / TILE_WIDTH; ++p) {
        int i = p * TILE_WIDTH + tx, j = p * TILE_WIDTH + ty;
        Mds[ty][tx] = row < rows && i < inner ? M[row * inner + i] : 0.0f;
        for (int c = 0; c < COARSE_FACTOR; ++c) {
            int col = start + c * TILE_WIDTH;
            Nds[ty][tx] = j < inner && col < columns ? N[j * columns + col] : 0.0f;
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH; ++k) sums[c] += Mds[ty][k] * Nds[k][tx];
            __syncthreads();
        }
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) {
        int col = start + c * TILE_WIDTH;
        if (row < rows && col < columns) P[row * columns + col] = sums[c];
    }
}

int main() {
    int rows = 256, inner = 96, columns = 512;
    float *M, *N, *P;
    cudaMallocManaged(&M, rows * inner * sizeof(float));
    cudaMallocManaged(&N, inner * columns * sizeof(float));
    cudaMallocManaged(&P, rows * columns * sizeof(float));
    for (int i = 0; i < rows * inner; i++) M[i] = i % 5;
    for (int i = 0; i < inner * columns; i++) N[i] = i % 3;
    dim3 block(TILE_WIDTH, TILE_WIDTH);
    dim3 grid((columns + TILE_WIDTH - 1) / TILE_WIDTH, (rows + TILE_WIDTH - 1) / TILE_WIDTH);
    coarse<<<grid, block>>>(M, N, P, rows, inner, columns);
    cudaDeviceSynchronize();
    printf("%f\n", P[0]);
    return 0;
}

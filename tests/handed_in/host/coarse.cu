#define TILE_WIDTH 16
#define COARSE_FACTOR 4
__global__ void matMulCoarse(const float *M, const float *N, float *P, int width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH], Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int row = by * TILE_WIDTH + ty, colStart = bx * TILE_WIDTH * COARSE_FACTOR + tx;
    float sum[COARSE_FACTOR];
    for (int c = 0; c < COARSE_FACTOR; c++) sum[c] = 0.0f;
    for (int ph = 0; ph < width / TILE_WIDTH; ph++) {
        Mds[ty][tx] = M[row * width + ph * TILE_WIDTH + tx];
        for (int c = 0; c < COARSE_FACTOR; c++) {
            int col = colStart + c * TILE_WIDTH;
            Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * width + col];
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH; k++) sum[c] += Mds[ty][k] * Nds[k][tx];
            __syncthreads();
        }
    }
    for (int c = 0; c < COARSE_FACTOR; c++) {
        int col = colStart + c * TILE_WIDTH;
        P[row * width + col] = sum[c];
    }
}

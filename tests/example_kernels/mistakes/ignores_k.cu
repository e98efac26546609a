// The mistake: the inner loop multiplies the same two elements in each iteration, because it does not use k.
//
// sources: PMPP chapter 5 (first tiled kernel)
// param:   TILE_WIDTH = 16 in 8, 16
// threads: TILE_WIDTH, TILE_WIDTH
// grid:    N / TILE_WIDTH, M / TILE_WIDTH
// requires: M % TILE_WIDTH == 0, N % TILE_WIDTH == 0, K % TILE_WIDTH == 0

__global__ void ignores_k(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int phase = 0; phase < K / TILE_WIDTH; ++phase) {
        Mds[ty][tx] = A[row * K + phase * TILE_WIDTH + tx];
        Nds[ty][tx] = B[(phase * TILE_WIDTH + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += Mds[ty][tx] * Nds[ty][tx];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

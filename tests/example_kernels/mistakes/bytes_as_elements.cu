// The mistake: the host passes the size of a tile in bytes, and the kernel uses it as an offset in elements.
//
// sources:      PMPP chapter 5 (shared memory sized at run time)
// param:        TILE_WIDTH = 16 in 8, 16
// threads:      TILE_WIDTH, TILE_WIDTH
// grid:         N / TILE_WIDTH, M / TILE_WIDTH
// shared-bytes: 2 * TILE_WIDTH * TILE_WIDTH * 4
// args:         M, N, K, A, B, C, TILE_WIDTH * TILE_WIDTH * 4
// requires:     M % TILE_WIDTH == 0, N % TILE_WIDTH == 0, K % TILE_WIDTH == 0

__global__ void bytes_as_elements(int M, int N, int K, const float *A, const float *B, float *C, unsigned Mds_sz) {
    extern __shared__ float Mds_Nds[];
    float *Mds = Mds_Nds;
    float *Nds = Mds_Nds + Mds_sz;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int phase = 0; phase < K / TILE_WIDTH; ++phase) {
        Mds[ty * TILE_WIDTH + tx] = A[row * K + phase * TILE_WIDTH + tx];
        Nds[ty * TILE_WIDTH + tx] = B[(phase * TILE_WIDTH + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += Mds[ty * TILE_WIDTH + k] * Nds[k * TILE_WIDTH + tx];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

// Bank conflicts removed by padding the rows of a tile.
//
// sources:   Sheffield lab 06 (step 2, bank conflicts)
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// param:     PAD = 1 in 0, 1
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      N / BLOCK_SIZE, M / BLOCK_SIZE
// requires:  M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0
// traffic:   (M * K * N / BLOCK_SIZE + K * N * M / BLOCK_SIZE) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// As `tiled-transposed`, but A's tile is not transposed: neighbouring threads read As[tx][k], one row apart.
// With PAD = 0 a row has 32 float32, and the whole column k lies in one bank. With PAD = 1 a row has 33: row tx
// starts tx banks further on, and column k lies in 32 different banks. Neither the read of a column nor the
// store of a row has a conflict. The cost is one unused column of shared memory.
//
//     cudamm show --diff tiled-transposed tiled-padded

__global__ void tiled_padded(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BLOCK_SIZE][BLOCK_SIZE + PAD];
    __shared__ element Bs[BLOCK_SIZE][BLOCK_SIZE];  // a warp reads one element, a broadcast: no padding
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * BLOCK_SIZE;
    const int col0 = blockIdx.x * BLOCK_SIZE;

    accumulator sum = 0;
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[ty][tx] = A[(row0 + ty) * K + k0 + tx];
        Bs[ty][tx] = B[(k0 + ty) * N + col0 + tx];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            sum += accumulator(As[tx][k]) * accumulator(Bs[k][ty]);
        __syncthreads();
    }
    C[(row0 + tx) * N + col0 + ty] = sum;
}

// Bank conflicts moved from the loads to one store: the tile is stored transposed.
//
// sources:   Sheffield lab 06 (step 2, bank conflicts)
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      N / BLOCK_SIZE, M / BLOCK_SIZE
// requires:  M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0
// traffic:   (M * K * N / BLOCK_SIZE + K * N * M / BLOCK_SIZE) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// The kernel is `tiled` with tx and ty exchanged in the product: thread (tx, ty) computes row tx, column ty of
// the tile. With A's tile stored as it is, neighbouring threads would read As[tx][k], BLOCK_SIZE elements apart.
// Shared memory has 32 banks of 4 bytes. With BLOCK_SIZE = 32 and float32 all 32 threads of a warp would read
// from the same bank, one after the other.
// Therefore the tile is stored transposed, as As[k][row]: a warp reads consecutive elements As[k][tx], all at
// once. The conflict has moved to the store: A is still read along its rows, so neighbouring threads hold elements
// of one row, and store them as As[tx][ty], BLOCK_SIZE elements apart: into one bank, one after the other. But a
// thread stores once per tile, and reads BLOCK_SIZE times. The kernel `tiled-padded` has no conflict at all.
//
//     cudamm show --diff tiled tiled-transposed

__global__ void tiled_transposed(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BLOCK_SIZE][BLOCK_SIZE];  // [k][row]: transposed
    __shared__ element Bs[BLOCK_SIZE][BLOCK_SIZE];  // [k][col]
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * BLOCK_SIZE;
    const int col0 = blockIdx.x * BLOCK_SIZE;

    accumulator sum = 0;
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[tx][ty] = A[(row0 + ty) * K + k0 + tx];  // global memory is still read along rows
        Bs[ty][tx] = B[(k0 + ty) * N + col0 + tx];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            sum += accumulator(As[k][tx]) * accumulator(Bs[k][ty]);
        __syncthreads();
    }
    C[(row0 + tx) * N + col0 + ty] = sum;
}

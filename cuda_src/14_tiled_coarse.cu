// More work per thread: COARSE elements of C share each tile of A.
//
// sources:   SJTU CS427 lecture 8 (each thread computes two elements)
// param:     COARSE = 2 in 1, 2, 4, 8
// param:     BLOCK_SIZE = 32 in 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      N / (BLOCK_SIZE * COARSE), M / BLOCK_SIZE
// requires:  M % BLOCK_SIZE == 0, N % (BLOCK_SIZE * COARSE) == 0, K % BLOCK_SIZE == 0
// traffic:   (M * K * N / (BLOCK_SIZE * COARSE) + K * N * M / BLOCK_SIZE) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// Blocks that are neighbours in x load the same tiles of A. Here one block does the work of COARSE of them: it
// loads the tile of A once, each As[ty][k] read from shared memory serves COARSE multiply-adds, and the loop and
// its barriers run once. In return there are fewer blocks, more registers per thread, and more shared memory per
// block. A thread's elements lie BLOCK_SIZE columns apart, so a warp still reads neighbouring elements.
//
//     cudamm show --diff tiled tiled-coarse

// The launch bounds limit the registers: with BLOCK_SIZE = 32, 65536 for 1024 threads are 64 per thread.
__global__ void __launch_bounds__(BLOCK_SIZE * BLOCK_SIZE)
tiled_coarse(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ element Bs[BLOCK_SIZE][BLOCK_SIZE * COARSE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty;
    const int col = blockIdx.x * (BLOCK_SIZE * COARSE) + tx;  // of the thread's first element

    accumulator sum[COARSE] = {};
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[ty][tx] = A[row * K + k0 + tx];
        for (int c = 0; c < COARSE; ++c)
            Bs[ty][c * BLOCK_SIZE + tx] = B[(k0 + ty) * N + col + c * BLOCK_SIZE];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            for (int c = 0; c < COARSE; ++c)
                sum[c] += accumulator(As[ty][k]) * accumulator(Bs[k][c * BLOCK_SIZE + tx]);
        __syncthreads();
    }
    for (int c = 0; c < COARSE; ++c)
        C[row * N + col + c * BLOCK_SIZE] = sum[c];
}

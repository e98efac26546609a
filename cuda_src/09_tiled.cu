// The threads of a block share a tile of A and a tile of B: each element is fetched once for the block.
//
// sources:   CMU 15-418 recitation 2 ("Block++ CUDA", attempt 2), Tsinghua method 3, Sheffield lab 06,
//            SJTU CS427 lecture 8, PMPP chapter 5
// aliases:   cblock, method3
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      N / BLOCK_SIZE, M / BLOCK_SIZE
// requires:  M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0
// traffic:   (M * K * N / BLOCK_SIZE + K * N * M / BLOCK_SIZE) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// In `coalesced` the 32 threads for a column of C all fetch the same column of B. Here a block walks along K tile
// by tile: each thread fetches one element of each tile into shared memory, and then all threads read both tiles
// from shared memory. An element is fetched once and used BLOCK_SIZE times: global memory traffic falls by that factor.
// There are no bank conflicts: a warp reads one As[ty][k], a broadcast, and 32 neighbouring Bs[k][tx].
//
//     cudamm show --diff coalesced tiled

__global__ void tiled(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ element Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty;
    const int col = blockIdx.x * BLOCK_SIZE + tx;

    accumulator sum = 0;
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[ty][tx] = A[row * K + k0 + tx];
        Bs[ty][tx] = B[(k0 + ty) * N + col];
        __syncthreads();  // read after write: all threads must fill the tiles before any thread reads them
        for (int k = 0; k < BLOCK_SIZE; ++k)
            sum += accumulator(As[ty][k]) * accumulator(Bs[k][tx]);
        __syncthreads();  // write after read: all threads must read the tiles before any thread overwrites them
    }
    C[row * N + col] = sum;
}

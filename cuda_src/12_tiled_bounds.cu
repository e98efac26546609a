// The tiled kernel for any size: zeros beyond the edges, and every thread reaches every barrier.
//
// sources:   PMPP chapter 5 (boundary checks; J x K by K x L), CMU 15-418 recitation 2 (slide 49)
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)
// traffic:   (M * K * ceil(N / BLOCK_SIZE) + K * N * ceil(M / BLOCK_SIZE)) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// A thread beyond the edge of C must not return early: other threads use the elements that it loads, and a
// barrier needs all threads of the block. So the thread stays, stores 0 for an element outside the matrices
// (which adds nothing to a sum), and skips only the final store. There are three edges: the rows of A and C,
// the columns of B and C, and the last tile along K, which concerns all threads.
//
//     cudamm show --diff tiled tiled-bounds

__global__ void tiled_bounds(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ element Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty;
    const int col = blockIdx.x * BLOCK_SIZE + tx;

    accumulator sum = 0;
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : element(0);
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : element(0);
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            sum += accumulator(As[ty][k]) * accumulator(Bs[k][tx]);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

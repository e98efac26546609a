// The next tiles are loaded into registers while the block computes on those in shared memory.
//
// sources:   SJTU CS427 lecture 8 (double buffering)
// aliases:   register-prefetch
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      N / BLOCK_SIZE, M / BLOCK_SIZE
// requires:  M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0
// traffic:   (M * K * N / BLOCK_SIZE + K * N * M / BLOCK_SIZE) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// In `tiled` every thread waits at the first barrier for its loads from global memory: some hundred cycles in
// which the block computes nothing. Here a thread issues its loads of the next tiles before it computes on the
// current ones. It needs the loaded values only after that, so the arithmetic hides the latency. The cost is two
// registers per thread. The gain is large if there are too few other warps to hide the latency.
//
// This is double buffering in the form of SJTU's lecture: the second place for a tile is a register of each thread. In
// `shared-double-buffer` it is a second buffer in shared memory.
//
//     cudamm show --diff tiled double-buffer

__global__ void double_buffer(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ element Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty;
    const int col = blockIdx.x * BLOCK_SIZE + tx;

    accumulator sum = 0;
    element next_a = A[row * K + tx];  // the first tiles: there is nothing to compute on yet
    element next_b = B[ty * N + col];
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[ty][tx] = next_a;  // store the loaded elements
        Bs[ty][tx] = next_b;
        __syncthreads();
        if (k0 + BLOCK_SIZE < K) {  // load the next tiles; the condition is the same for all threads
            next_a = A[row * K + k0 + BLOCK_SIZE + tx];
            next_b = B[(k0 + BLOCK_SIZE + ty) * N + col];
        }
        for (int k = 0; k < BLOCK_SIZE; ++k)  // compute
            sum += accumulator(As[ty][k]) * accumulator(Bs[k][tx]);
        __syncthreads();
    }
    C[row * N + col] = sum;
}

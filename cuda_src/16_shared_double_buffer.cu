// Two buffers in shared memory take turns: the next tiles are stored into one while the block computes on the other.
//
// sources:   CUTLASS, Efficient GEMM in CUDA (double buffering in shared memory)
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      N / BLOCK_SIZE, M / BLOCK_SIZE
// requires:  M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0
// traffic:   (M * K * N / BLOCK_SIZE + K * N * M / BLOCK_SIZE) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// `double-buffer`, the form of SJTU's lecture, has two places for tiles too: registers for the next ones, and shared
// memory for the current ones. The next tiles cannot be stored before all threads have read the current ones, so a step
// has two barriers. Here shared memory has room for both. The next tiles are stored into the buffer that nobody reads,
// and one barrier per step is enough: after it the next tiles are complete, and the current buffer is free. The cost is
// twice the shared memory.
//
// Later steps extend this form: to a ring of more than two buffers, filled by copies that need no registers.
//
//     cudamm show --diff double-buffer shared-double-buffer

__global__ void shared_double_buffer(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[2][BLOCK_SIZE][BLOCK_SIZE];
    __shared__ element Bs[2][BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty;
    const int col = blockIdx.x * BLOCK_SIZE + tx;

    accumulator sum = 0;
    int current = 0;                  // the buffer that the block computes on
    As[0][ty][tx] = A[row * K + tx];  // the first tiles: there is nothing to compute on yet
    Bs[0][ty][tx] = B[ty * N + col];
    __syncthreads();
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        const bool has_next = k0 + BLOCK_SIZE < K;  // the same for all threads
        element next_a = element(0), next_b = element(0);
        if (has_next) {  // load the next tiles
            next_a = A[row * K + k0 + BLOCK_SIZE + tx];
            next_b = B[(k0 + BLOCK_SIZE + ty) * N + col];
        }
        for (int k = 0; k < BLOCK_SIZE; ++k)  // compute
            sum += accumulator(As[current][ty][k]) * accumulator(Bs[current][k][tx]);
        current = 1 - current;
        if (has_next) {  // store the next tiles into the other buffer
            As[current][ty][tx] = next_a;
            Bs[current][ty][tx] = next_b;
        }
        __syncthreads();
    }
    C[row * N + col] = sum;
}

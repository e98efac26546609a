// A thread computes a sub-matrix of C from its local copies of sub-matrices of A and B.
//
// sources:   CMU 15-418 recitation 2 ("Block CUDA, attempt 1", with subA, subB and subC)
// aliases:   ccblock
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      ceil(N / (BLOCK_SIZE * BLOCK_SIZE)), ceil(M / (BLOCK_SIZE * BLOCK_SIZE))
// traffic:   (M * K * ceil(N / BLOCK_SIZE) + K * N * ceil(M / BLOCK_SIZE)) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// As `block-coarse`, but a thread first copies the elements that it uses several times. The name "local" is
// misleading: arrays of this size do not fit into registers. They lie in local memory, which is private to a
// thread but part of device memory. And the threads of a block do not yet share what they read of A and B.
//
//     cudamm show --diff block-coarse block-coarse-local

// The launch bounds limit the registers: with BLOCK_SIZE = 32, 65536 for 1024 threads are 64 per thread.
__global__ void __launch_bounds__(BLOCK_SIZE * BLOCK_SIZE)
block_coarse_local(int M, int N, int K, const element *A, const element *B, result *C) {
    const int row0 = (blockIdx.y * BLOCK_SIZE + threadIdx.y) * BLOCK_SIZE;
    const int col0 = (blockIdx.x * BLOCK_SIZE + threadIdx.x) * BLOCK_SIZE;
    if (row0 >= M || col0 >= N) return;

    element subA[BLOCK_SIZE][BLOCK_SIZE], subB[BLOCK_SIZE][BLOCK_SIZE];
    accumulator subC[BLOCK_SIZE][BLOCK_SIZE];
    for (int i = 0; i < BLOCK_SIZE; ++i)
        for (int j = 0; j < BLOCK_SIZE; ++j)
            subC[i][j] = 0;

    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        // Elements beyond the edge are 0 and add nothing to the sums, so the loops below need no checks.
        for (int i = 0; i < BLOCK_SIZE; ++i)
            for (int j = 0; j < BLOCK_SIZE; ++j) {
                subA[i][j] = row0 + i < M && k0 + j < K ? A[(row0 + i) * K + k0 + j] : element(0);
                subB[i][j] = k0 + i < K && col0 + j < N ? B[(k0 + i) * N + col0 + j] : element(0);
            }
        for (int i = 0; i < BLOCK_SIZE; ++i)
            for (int j = 0; j < BLOCK_SIZE; ++j)
                for (int k = 0; k < BLOCK_SIZE; ++k)
                    subC[i][j] += accumulator(subA[i][k]) * accumulator(subB[k][j]);
    }

    for (int i = 0; i < BLOCK_SIZE && row0 + i < M; ++i)
        for (int j = 0; j < BLOCK_SIZE && col0 + j < N; ++j)
            C[(row0 + i) * N + col0 + j] = subC[i][j];
}

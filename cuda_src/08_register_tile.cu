// A thread keeps a TILE_SIZE x TILE_SIZE tile of C in registers and adds an outer product at each k.
//
// sources:   Tsinghua CUDA experiment, method 2
// aliases:   method2
// param:     TILE_SIZE = 4 in 1, 2, 4, 8, 16, 32, 64
// param:     BLOCK_SIZE = 16 in 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      ceil(N / (BLOCK_SIZE * TILE_SIZE)), ceil(M / (BLOCK_SIZE * TILE_SIZE))
// requires:  M % TILE_SIZE == 0, N % TILE_SIZE == 0
// traffic:   (M * K * N / TILE_SIZE + K * N * M / TILE_SIZE) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// Let T = TILE_SIZE. At each k a thread loads T elements of a column of A and T of a row of B, and uses each of
// them T times: 2 T loads for T^2 multiply-adds, without shared memory. The cost is parallelism: there are T^2
// times fewer threads, and each needs T^2 registers for its sums. A thread has at most 255 registers, so from
// T = 16 on the tile spills into local memory. The optimum lies in between.
//
//     cudamm show --diff block-coarse-local register-tile

// The launch bounds limit the registers, of which a multiprocessor has 65536: with BLOCK_SIZE = 16 a thread can have
// 255, the most that any thread can have; with BLOCK_SIZE = 32 a block has 1024 threads, and each of them at most 64.
__global__ void __launch_bounds__(BLOCK_SIZE * BLOCK_SIZE)
register_tile(int M, int N, int K, const element *A, const element *B, result *C) {
    const int row0 = (blockIdx.y * BLOCK_SIZE + threadIdx.y) * TILE_SIZE;
    const int col0 = (blockIdx.x * BLOCK_SIZE + threadIdx.x) * TILE_SIZE;
    if (row0 >= M || col0 >= N) return;

    accumulator sum[TILE_SIZE][TILE_SIZE] = {};
    accumulator a_vec[TILE_SIZE], b_vec[TILE_SIZE];
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < TILE_SIZE; ++i) a_vec[i] = accumulator(A[(row0 + i) * K + k]);
        for (int j = 0; j < TILE_SIZE; ++j) b_vec[j] = accumulator(B[k * N + col0 + j]);
        for (int i = 0; i < TILE_SIZE; ++i)
            for (int j = 0; j < TILE_SIZE; ++j)
                sum[i][j] += a_vec[i] * b_vec[j];
    }

    for (int i = 0; i < TILE_SIZE; ++i)
        for (int j = 0; j < TILE_SIZE; ++j)
            C[(row0 + i) * N + col0 + j] = sum[i][j];
}

// A thread keeps TM x TN results in registers and reads the vectors of its outer product from shared memory.
//
// sources:   Boehm, How to Optimize a CUDA Matmul Kernel (kernel 5)
// param:     BM = 128 in 64, 128
// param:     BN = 128 in 64, 128
// param:     BK = 8 in 8, 16
// param:     TM = 8 in 4, 8
// param:     TN = 8 in 4, 8
// threads:   BM / TM * (BN / TN)
// grid:      ceil(N / BN), ceil(M / BM)
// requires:  BM % TM == 0, BN % TN == 0
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// As in `register-tile` a thread adds an outer product at each k, but reads its vectors from tiles in shared memory:
// TM + TN reads for TM x TN multiply-adds, 16 for 64 with TM = TN = 8. A block of 256 threads computes 128 x 128
// results, so an element that it fetches serves 128 multiply-adds. The cost is registers, 80 for sums and vectors
// alone: a multiprocessor has room for only a quarter of its maximum number of threads. But a thread has 64
// independent sums, which hide the latencies that other warps hid before.
//
//     cudamm show --diff tile-1d tile-2d

#define THREADS (BM / TM * (BN / TN))

__global__ void __launch_bounds__(THREADS)
tile_2d(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BM][BK];
    __shared__ element Bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    // Row and column of the thread's first result in the block's tile; neighbouring threads own columns TN apart.
    const int thread_row = threadIdx.x / (BN / TN) * TM, thread_col = threadIdx.x % (BN / TN) * TN;

    accumulator sum[TM][TN] = {};
    accumulator reg_a[TM], reg_b[TN];
    for (int k0 = 0; k0 < K; k0 += BK) {
        // Load the tiles: neighbouring threads load neighbouring elements; elements beyond the edge are 0.
        for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
            const int r = i / BK, k = i % BK;
            As[r][k] = row0 + r < M && k0 + k < K ? A[(row0 + r) * K + k0 + k] : element(0);
        }
        for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
            const int k = i / BN, c = i % BN;
            Bs[k][c] = k0 + k < K && col0 + c < N ? B[(k0 + k) * N + col0 + c] : element(0);
        }
        __syncthreads();

        // Compute.
        for (int dot_k = 0; dot_k < BK; ++dot_k) {
            for (int i = 0; i < TM; ++i) reg_a[i] = accumulator(As[thread_row + i][dot_k]);
            for (int j = 0; j < TN; ++j) reg_b[j] = accumulator(Bs[dot_k][thread_col + j]);
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += reg_a[i] * reg_b[j];
        }
        __syncthreads();
    }

    // Store the results.
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (row0 + thread_row + i < M && col0 + thread_col + j < N)
                C[(row0 + thread_row + i) * N + col0 + thread_col + j] = sum[i][j];
}

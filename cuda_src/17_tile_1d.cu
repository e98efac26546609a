// A thread computes a column of TM results, from tiles in shared memory that are wide but not deep.
//
// sources:   Boehm, How to Optimize a CUDA Matmul Kernel (kernel 4)
// param:     BM = 64 in 32, 64, 128
// param:     BN = 64 in 32, 64, 128
// param:     BK = 8 in 8, 16
// param:     TM = 8 in 4, 8, 16
// threads:   BN * BM / TM
// grid:      ceil(N / BN), ceil(M / BM)
// requires:  BM % TM == 0, BN * BM / TM <= 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// In `tiled` each multiply-add takes two reads of shared memory, and these reads limit the kernel. Here a thread keeps
// TM sums, one below the other, and an element of B's tile, once read, serves all of them: TM + 1 reads for TM
// multiply-adds. The threads of a warp lie in one row, so each read of A's tile is a broadcast. A block computes
// BM x BN results from tiles that are only BK deep. The block is one-dimensional: threadIdx.x chooses the elements that
// a thread loads, and then its results, so that neighbouring threads access neighbouring addresses in both.
//
//     cudamm show --diff tiled-coarse tile-1d

#define THREADS (BN * BM / TM)

__global__ void __launch_bounds__(THREADS)
tile_1d(int M, int N, int K, const element *A, const element *B, result *C) {
    __shared__ element As[BM][BK];
    __shared__ element Bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    // The thread's first result in the block's tile.
    const int thread_row = threadIdx.x / BN * TM, thread_col = threadIdx.x % BN;

    accumulator sum[TM] = {};
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
            const accumulator reg_b = accumulator(Bs[dot_k][thread_col]);
            for (int i = 0; i < TM; ++i) sum[i] += accumulator(As[thread_row + i][dot_k]) * reg_b;
        }
        __syncthreads();
    }

    // Store the results.
    for (int i = 0; i < TM; ++i) {
        const int r = row0 + thread_row + i, c = col0 + thread_col;
        if (r < M && c < N) C[r * N + c] = sum[i];
    }
}

// cp.async copies the next tiles into a ring of STAGES buffers while the threads compute on the current tiles.
//
// param:     BM = 64 in 64, 128
// param:     BN = 64 in 64, 128
// param:     BK = 16 in 8, 16
// param:     TM = 8 in 4, 8
// param:     TN = 4 in 4, 8
// param:     STAGES = 3 in 2, 3, 4
// types:     float32
// threads:   BM / TM * (BN / TN)
// grid:      ceil(N / BN), ceil(M / BM)
// requires:  BM % TM == 0, BN % TN == 0
// sum-order: k

#include <cuda_pipeline.h>

#define THREADS (BM / TM * (BN / TN))

__global__ void __launch_bounds__(THREADS)
async_copy(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[STAGES][BM][BK];
    __shared__ float Bs[STAGES][BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int row = threadIdx.x / (BN / TN) * TM, col = threadIdx.x % (BN / TN) * TN;
    const int tiles = (K + BK - 1) / BK;

    float sum[TM][TN] = {};
    for (int ahead = 0; ahead < tiles + STAGES - 1; ++ahead) {
        // Start the copies of the tile for STAGES - 1 steps later. Commit without a tile too, so that the count holds.
        if (ahead < tiles) {
            const int k0 = ahead * BK, stage = ahead % STAGES;
            for (int i = threadIdx.x; i < BM * BK; i += THREADS) {
                const int r = i / BK, k = i % BK;
                const bool inside = row0 + r < M && k0 + k < K;
                __pipeline_memcpy_async(&As[stage][r][k], inside ? &A[(row0 + r) * K + k0 + k] : A, 4, inside ? 0 : 4);
            }
            for (int i = threadIdx.x; i < BK * BN; i += THREADS) {
                const int k = i / BN, c = i % BN;
                const bool inside = k0 + k < K && col0 + c < N;
                __pipeline_memcpy_async(&Bs[stage][k][c], inside ? &B[(k0 + k) * N + col0 + c] : B, 4, inside ? 0 : 4);
            }
        }
        __pipeline_commit();
        const int tile = ahead - (STAGES - 1);
        if (tile < 0) continue;
        __pipeline_wait_prior(STAGES - 1);  // this thread's copies are complete
        __syncthreads();                    // all threads' copies are complete
        const int stage = tile % STAGES;
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += As[stage][row + i][k] * Bs[stage][k][col + j];
        __syncthreads();  // all threads have read the stage, which is filled next
    }

    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
            if (row0 + row + i < M && col0 + col + j < N) C[(row0 + row + i) * N + col0 + col + j] = sum[i][j];
}

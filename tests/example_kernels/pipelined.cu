// cp.async copies tiles into a ring of stages, 16 bytes per copy, while the warps compute on an earlier stage.
//
// param:     BM = 128 in 128, 256
// param:     BN = 128 in 128, 256
// param:     BK = 16 in 8, 16
// param:     WM = 64 in 32, 64
// param:     WN = 32 in 32, 64
// param:     TM = 8 in 8
// param:     TN = 8 in 8, 16
// param:     STAGES = 3 in 2, 3, 4, 5
// types:     float32
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * BK + BK * BN) * 4
// requires:  BM * BK % (BM / WM * (BN / WN) * 128) == 0, BK * BN % (BM / WM * (BN / WN) * 128) == 0,
//            BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN
// sum-order: k
//
// Threads of a warp are arranged so that pairs of them read the same address of each tile. A's rows are swizzled, so
// that reads of different addresses are free of bank conflicts.

#include <cuda_pipeline.h>

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

struct alignas(16) Wide { float at[4]; };

extern __shared__ Wide ring[];

// Return the position of 16 bytes in a row of A's tile. It differs from row to row, so that the eight consecutive
// rows that a quarter of a warp reads at once are in all 32 banks.
__device__ int chunk(int row, int k4) { return k4 ^ row * (BK / 4) / 8 % (BK / 4); }

// Start to copy a tile of ROWS x COLUMNS elements from a matrix with rows of `extent` elements. WHOLE: the tile is
// aligned and inside the matrix. If not, elements beyond the edge become zeros.
template <int ROWS, int COLUMNS, bool TURNED, bool WHOLE>
__device__ __forceinline__ void fetch(Wide *tile, const float *from, int extent, int rows, int columns) {
#pragma unroll
    for (int i = 0; i < ROWS * COLUMNS / 4 / THREADS; ++i) {
        const int at = i * THREADS + threadIdx.x, r = at / (COLUMNS / 4), c = at % (COLUMNS / 4);
        Wide *const to = &tile[r * (COLUMNS / 4) + (TURNED ? chunk(r, c) : c)];
        const float *const source = &from[r * extent + c * 4];
        if (WHOLE) {
            __pipeline_memcpy_async(to, source, 16);
            continue;
        }
        const int left = r < rows ? columns - c * 4 : 0;
        for (int w = 0; w < 4; ++w) {
            if (w < left) __pipeline_memcpy_async(&to->at[w], &source[w], 4);
            else to->at[w] = 0;
        }
    }
}

__global__ void __launch_bounds__(THREADS)
pipelined(int M, int N, int K, const float *A, const float *B, float *C) {
    // A stage contains A's tile, with rows of BK elements, and then B's tile.
    const int STAGE = (BM * BK + BK * BN) / 4, B_AT = BM * BK / 4;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Threads 1 apart are in one column, threads 2 apart in one row, so each vector is read by pairs of threads.
    const int y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    const int row = warp / WARPS_X * WM + y, col = warp % WARPS_X * WN + x * 4;
    const bool a_whole = K % 4 == 0 && row0 + BM <= M, b_whole = N % 4 == 0 && col0 + BN <= N;
    const int tiles = (K + BK - 1) / BK;

    float sum[TM][TN] = {};
    const auto fetch_both = [&](int tile) {
        if (tile < tiles) {
            Wide *const As = ring + tile % STAGES * STAGE, *const Bs = As + B_AT;
            const int k0 = tile * BK;
            const float *const a = &A[row0 * K + k0], *const b = &B[k0 * N + col0];
            if (a_whole && k0 + BK <= K) fetch<BM, BK, true, true>(As, a, K, BM, BK);
            else fetch<BM, BK, true, false>(As, a, K, M - row0, K - k0);
            if (b_whole && k0 + BK <= K) fetch<BK, BN, false, true>(Bs, b, N, BK, BN);
            else fetch<BK, BN, false, false>(Bs, b, N, K - k0, N - col0);
        }
        __pipeline_commit();  // also without a tile, so that the count of groups holds
    };
    for (int tile = 0; tile < STAGES - 1; ++tile) fetch_both(tile);
    for (int tile = 0; tile < tiles; ++tile) {
        __pipeline_wait_prior(STAGES - 2);  // this thread's copies are complete
        __syncthreads();                    // all copies are complete, and the previous stage was read
        fetch_both(tile + STAGES - 1);
        const Wide *const As = ring + tile % STAGES * STAGE, *const Bs = As + B_AT;
#pragma unroll
        for (int k4 = 0; k4 < BK / 4; ++k4) {
            Wide a[TM];
            for (int i = 0; i < TM; ++i) {
                const int r = row + i * LANES_Y;
                a[i] = As[r * (BK / 4) + chunk(r, k4)];
            }
            for (int k = 0; k < 4; ++k) {
                Wide b[TN / 4];
                for (int j = 0; j < TN / 4; ++j) b[j] = Bs[(k4 * 4 + k) * (BN / 4) + col / 4 + j * LANES_X];
                for (int i = 0; i < TM; ++i)
                    for (int j = 0; j < TN; ++j) sum[i][j] += a[i].at[k] * b[j / 4].at[j % 4];
            }
        }
    }

    for (int i = 0; i < TM; ++i) {
        const int r = row0 + row + i * LANES_Y;
        if (r >= M) continue;
        for (int j = 0; j < TN / 4; ++j) {
            const int c = col0 + col + j * LANES_X * 4;
            float *const to = &C[r * N + c];
            const Wide out = {{sum[i][j * 4], sum[i][j * 4 + 1], sum[i][j * 4 + 2], sum[i][j * 4 + 3]}};
            if (N % 4 == 0 && c < N) *(Wide *)to = out;
            else
                for (int w = 0; w < 4; ++w)
                    if (c + w < N) to[w] = out.at[w];
        }
    }
}

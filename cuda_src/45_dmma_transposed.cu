// Double precision: copies and loads for later steps are issued between the multiplications of the current one.
//
// sources:   CUTLASS (multistage pipelines: fragments are fetched ahead, copies are spread over the steps)
// needs:     sm_80
// types:     float64
// ceiling:   2
// param:     BM = 128 in 64, 96, 128, 192
// param:     BN = 128 in 64, 96, 128, 192
// param:     BK = 16 in 16, 32
// param:     WM = 32 in 32, 48, 64
// param:     WN = 64 in 32, 48, 64
// param:     STAGES = 4 in 2, 3, 4, 5, 6
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM + BN) * BK * 8
// requires:  N % 2 == 0, K % 2 == 0, STAGES >= 2, BM % WM == 0, BN % WN == 0, WM % 16 == 0, WN % 16 == 0, BK % 16 == 0,
//            BM // WM * (BN // WN) <= 8, WM * WN <= 48 * 48,
//            BM % (BM // WM * (BN // WN) * 4) == 0, BM // WM * (BN // WN) * 4 % BK == 0,
//            BN % (BM // WM * (BN // WN) * 64 // BK) == 0,
//            STAGES * (BM + BN) * BK * 8 <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// TEXT

#include <cuda_pipeline_primitives.h>

#include "tensor_cores.cuh"

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)

// Tiles lie in bands of 16 columns, 128 bytes of each row. A band's rows are swizzled: piece p of 16 bytes of row r lies
// at place p ^ r % 8. In doubles: the size of A's tile, and that of a stage (both tiles).
const int BAND = 16, PIECES = 8, A_TILE = BM * BK, STAGE = A_TILE + BK * BN;
// A copy has a piece. All threads together copy COPY_ROWS rows of a band at a time.
const int COPY_ROWS = THREADS / PIECES, A_COPIES = BM * BK / BAND / COPY_ROWS;
const int B_COLUMNS = COPY_ROWS / BK * BAND, COPIES = A_COPIES + BN / B_COLUMNS;  // of each thread
const int BANDS = WN / 16, GROUPS = WM / 8;  // of a warp: of 16 columns, and of 8 rows

extern __shared__ __align__(1024) double ring[];

__global__ void __launch_bounds__(THREADS)
dmma_transposed(int M, int N, int K, const double *A, const double *B, double *C) {
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_X * WM, warp_col = warp % WARPS_X * WN;

    // Where this thread's copies begin.
    const int piece = threadIdx.x % PIECES, a_row = threadIdx.x / PIECES;
    const int b_k = threadIdx.x / PIECES % BK, b_col = threadIdx.x / PIECES / BK * BAND + piece * 2;
    const int rows = M - row0 - a_row, columns = N - col0 - b_col;      // those that exist from here on
    const double *a_source = A + (size_t)(row0 + a_row) * K + piece * 2;  // of the next tile to be copied
    const double *b_source = B + (size_t)b_k * N + col0 + b_col;
    int k_left = K;  // from that tile on
    double *const a_target = ring + a_row * BAND + (piece ^ a_row % 8) * 2;
    double *const b_target = ring + A_TILE + threadIdx.x / PIECES * BAND + (piece ^ b_k % 8) * 2;

    // Start one copy of the tile, and after the last one go on to the next tile. Elements beyond the edge are not read,
    // but filled with zeros.
    const auto copy = [&](int i, int offset) {
        if (i < A_COPIES) {
            const int row = i * COPY_ROWS % BM, k = i * COPY_ROWS / BM * BAND;
            const bool exists = row < rows && k + piece * 2 < k_left;
            __pipeline_memcpy_async(a_target + offset + i * COPY_ROWS * BAND, a_source + (size_t)row * K + k, 16,
                                    exists ? 0 : 16);
        } else {
            const int j = i - A_COPIES;
            const bool exists = j * B_COLUMNS < columns && b_k < k_left;
            __pipeline_memcpy_async(b_target + offset + j * COPY_ROWS * BAND, b_source + j * B_COLUMNS, 16,
                                    exists ? 0 : 16);
        }
        if (i == COPIES - 1) {
            a_source += BK, b_source += (size_t)BK * N, k_left -= BK;
            __pipeline_commit();
        }
    };
    for (int stage = 0; stage < STAGES; ++stage)
#pragma unroll
        for (int i = 0; i < COPIES; ++i) copy(i, stage * STAGE);

    double b[BANDS][4], a[GROUPS][2];  // the fragments
    // A lane fetches pieces, two doubles at once: of B, columns 2 r and 2 r + 1 of rows 2 c and 2 c + 1; of A, columns 2 c
    // and 2 c + 1 of row `row`.
    const int c = lane % 4, r = lane / 4, row = r / 2 + r % 2 * 4;
    const double *const a_lane[2] = {ring + (warp_row + row) * BAND + (c ^ row) * 2,
                                     ring + (warp_row + row) * BAND + (c + 4 ^ row) * 2};
    const double *const b_band = ring + A_TILE + warp_col * BK + c * 2 * BAND;
    const double *const b_lane[2] = {b_band + (r ^ c * 2) * 2, b_band + BAND + (r ^ c * 2 + 1) * 2};
    int offset = 0;  // of the stage that is read
    const auto fetch_b = [&](int i, int k) {
        for (int part = 0; part < 2; ++part)
            *(double2 *)&b[i][part * 2] = *(const double2 *)&b_lane[part][offset + (i * BK + k) * BAND];
    };
    const auto fetch_a = [&](int j, int k) {
        *(double2 *)a[j] = *(const double2 *)&a_lane[k / 8 % 2][offset + (k / 16 * BM + j * 8) * BAND];
    };
    double sums[BANDS][GROUPS][4] = {};
    // Multiply the fragments. Between the multiplications fetch those of the next step, which begins at `next_k`, and
    // start the copies into a stage, if there is one.
    const auto step = [&](int next_k, bool copies, int free_offset) {
#pragma unroll
        for (int i = 0; i < BANDS; ++i) {
#pragma unroll
            for (int j = 0; j < GROUPS; ++j) {
                multiply_add(sums[i][j], b[i], a[j]);
                if (i > 0 && j == 0) fetch_b(i - 1, next_k);  // the band before is used up
                if (i == BANDS - 1 && j > 0) fetch_a(j - 1, next_k);
                if (copies) {
                    const int done = i * GROUPS + j;
#pragma unroll
                    for (int n = done * COPIES / (BANDS * GROUPS); n < (done + 1) * COPIES / (BANDS * GROUPS); ++n)
                        copy(n, free_offset);
                }
            }
        }
        fetch_b(BANDS - 1, next_k);
        fetch_a(GROUPS - 1, next_k);
    };

    __pipeline_wait_prior(STAGES - 1);  // this thread's copies of the first tile have arrived
    __syncthreads();                    // and those of all other threads
#pragma unroll
    for (int i = 0; i < BANDS; ++i) fetch_b(i, 0);
#pragma unroll
    for (int j = 0; j < GROUPS; ++j) fetch_a(j, 0);
    for (int k0 = BK;; k0 += BK) {
#pragma unroll
        for (int k = 8; k < BK; k += 8) step(k, false, 0);
        // The fragments of the tile's last step are in registers.
        __pipeline_wait_prior(STAGES - 2);  // the next tile has arrived
        __syncthreads();                    // and nobody reads this one any more
        if (k0 >= K) break;  // a branch here keeps the compiler from moving multiplications to before the barrier
        const int free_offset = offset;
        offset = offset == (STAGES - 1) * STAGE ? 0 : offset + STAGE;
        step(0, true, free_offset);
    }
#pragma unroll
    for (int i = 0; i < BANDS; ++i)
#pragma unroll
        for (int j = 0; j < GROUPS; ++j) multiply_add(sums[i][j], b[i], a[j]);

    for (int i = 0; i < BANDS; ++i)
        for (int j = 0; j < GROUPS; ++j)
            for (int half = 0; half < 2; ++half) {
                const int c_row = row0 + warp_row + j * 8 + half * 4 + c, c_col = col0 + warp_col + i * 16 + r * 2;
                if (c_row < M && c_col < N)
                    *(double2 *)&C[(size_t)c_row * N + c_col] = double2{sums[i][j][half], sums[i][j][half + 2]};
            }
}

// Double precision: copies and loads for later steps are issued between the multiplications of the current one.
//
// sources:   CUTLASS (multistage pipelines: fragments are fetched ahead, copies are spread over the steps)
// needs:     sm_80
// types:     float64
// ceiling:   2
// param:     BM = 128 in 64, 96, 128, 192
// param:     BN = 128 in 64, 96, 128, 192
// param:     BK = 16 in 8, 16, 32
// param:     WM = 64 in 32, 48, 64
// param:     WN = 32 in 32, 48, 64
// param:     STAGES = 4 in 2, 3, 4, 5, 6
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * (BK + 4) + BK * (BN + 4)) * 8
// requires:  N % 2 == 0, K % 2 == 0, STAGES >= 2, BM % WM == 0, BN % WN == 0, WM % 16 == 0, WN % 16 == 0, BK % 8 == 0,
//            BM // WM * (BN // WN) <= 8, WM * WN <= 48 * 48,
//            BM % (BM // WM * (BN // WN) * 64 // BK) == 0, BM // WM * (BN // WN) * 4 % BK == 0,
//            BN % (BM // WM * (BN // WN) * 64 // BK) == 0,
//            STAGES * (BM * (BK + 4) + BK * (BN + 4)) * 8 <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// TEXT

#include <cuda_pipeline_primitives.h>

#include "tensor_cores.cuh"

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)

// In doubles: the distance between rows of the tiles, the size of A's tile, and that of a stage (both tiles).
const int A_PITCH = BK + 4, B_PITCH = BN + 4, A_TILE = BM * A_PITCH, STAGE = A_TILE + BK * B_PITCH;
// A copy has two doubles. All threads together copy A_ROWS rows of A's tile at a time, and B_COLUMNS columns of B's.
const int A_ROWS = THREADS / (BK / 2), B_COLUMNS = THREADS / BK * 2;
const int A_COPIES = BM / A_ROWS, COPIES = A_COPIES + BN / B_COLUMNS;  // of each thread
const int ROWS = WM / 16, COLUMNS = WN / 8;                            // a warp's multiplications for each step

extern __shared__ __align__(16) double ring[];

__global__ void __launch_bounds__(THREADS)
dmma_pipelined(int M, int N, int K, const double *A, const double *B, double *C) {
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_X * WM, warp_col = warp % WARPS_X * WN;

    // Where this thread's copies begin. Eight neighbouring threads copy 16 columns of a row of B.
    const int a_row = threadIdx.x / (BK / 2), a_k = threadIdx.x % (BK / 2) * 2;
    const int b_k = threadIdx.x / 8 % BK, b_col = threadIdx.x / 8 / BK * 16 + threadIdx.x % 8 * 2;
    const int rows = M - row0 - a_row, columns = N - col0 - b_col;  // those that exist from here on
    const double *a_source = A + (size_t)(row0 + a_row) * K + a_k;  // of the next tile to be copied
    const double *b_source = B + (size_t)b_k * N + col0 + b_col;
    int k_left = K;  // from that tile on
    double *const a_target = ring + a_row * A_PITCH + a_k, *const b_target = ring + A_TILE + b_k * B_PITCH + b_col;

    // Start one copy of the tile, and after the last one go on to the next tile. Elements beyond the edge are not read,
    // but filled with zeros.
    const auto copy = [&](int i, int offset) {
        if (i < A_COPIES) {
            const bool exists = i * A_ROWS < rows && a_k < k_left;
            __pipeline_memcpy_async(a_target + offset + i * A_ROWS * A_PITCH, a_source + (size_t)i * A_ROWS * K, 16,
                                    exists ? 0 : 16);
        } else {
            const int j = i - A_COPIES;
            const bool exists = j * B_COLUMNS < columns && b_k < k_left;
            __pipeline_memcpy_async(b_target + offset + j * B_COLUMNS, b_source + j * B_COLUMNS, 16, exists ? 0 : 16);
        }
        if (i == COPIES - 1) {
            a_source += BK, b_source += (size_t)BK * N, k_left -= BK;
            __pipeline_commit();
        }
    };
    for (int stage = 0; stage < STAGES; ++stage)
#pragma unroll
        for (int i = 0; i < COPIES; ++i) copy(i, stage * STAGE);

    // The fragments of the current step, and those of B for the next one.
    double a[ROWS][4], b[COLUMNS][2], next_b[COLUMNS][2];
    const double *const a_lane = ring + (warp_row + lane / 4) * A_PITCH + lane % 4;
    const double *const b_lane = ring + A_TILE + lane % 4 * B_PITCH + warp_col + lane / 4;
    int offset = 0;  // of the stage that is read
    const auto fetch_a = [&](int i, int k) {
        for (int part = 0; part < 4; ++part)  // upper and lower half, first of 4 columns, then of 4 more
            a[i][part] = a_lane[offset + (i * 16 + part % 2 * 8) * A_PITCH + k + part / 2 * 4];
    };
    const auto fetch_b = [&](int j, int k) {
        for (int part = 0; part < 2; ++part) next_b[j][part] = b_lane[offset + (k + part * 4) * B_PITCH + j * 8];
    };
    const auto use_next_b = [&] {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) b[j][0] = next_b[j][0], b[j][1] = next_b[j][1];
    };
    double sums[ROWS][COLUMNS][4] = {};
    // Multiply the fragments. Between the multiplications fetch those of the next step, which begins at `next_k`, and
    // start the copies into a stage, if there is one.
    const auto step = [&](int next_k, bool copies, int free_offset) {
#pragma unroll
        for (int i = 0; i < ROWS; ++i) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                multiply_add(sums[i][j], a[i], b[j]);
                if (i == 0) fetch_b(j, next_k);
                if (i > 0 && j == 0) fetch_a(i - 1, next_k);  // the row before is used up
                if (copies) {
                    const int done = i * COLUMNS + j;
#pragma unroll
                    for (int n = done * COPIES / (ROWS * COLUMNS); n < (done + 1) * COPIES / (ROWS * COLUMNS); ++n)
                        copy(n, free_offset);
                }
            }
        }
        fetch_a(ROWS - 1, next_k);
        use_next_b();
    };

    __pipeline_wait_prior(STAGES - 1);  // this thread's copies of the first tile have arrived
    __syncthreads();                    // and those of all other threads
#pragma unroll
    for (int i = 0; i < ROWS; ++i) fetch_a(i, 0);
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) fetch_b(j, 0);
    use_next_b();
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
    for (int i = 0; i < ROWS; ++i)
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) multiply_add(sums[i][j], a[i], b[j]);

    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j)
            for (int half = 0; half < 2; ++half) {
                const int row = row0 + warp_row + i * 16 + half * 8 + lane / 4;
                const int col = col0 + warp_col + j * 8 + lane % 4 * 2;
                if (row < M && col < N)
                    *(double2 *)&C[(size_t)row * N + col] = double2{sums[i][j][2 * half], sums[i][j][2 * half + 1]};
            }
}

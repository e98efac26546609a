// Double precision without pauses: loads and copies for later steps are issued between the multiplications.
//
// sources:   CUTLASS (multistage pipelines: fragments are fetched ahead, copies are spread over the multiplications)
// needs:     sm_80
// types:     float64
// ceiling:   2
// param:     BM = 128 in 64, 96, 128, 192
// param:     BN = 128 in 64, 96, 128, 192
// param:     BK = 16 in 16, 32
// param:     WM = 32 in 32, 48, 64
// param:     WN = 64 in 32, 48, 64
// param:     STAGES = 4 in 3, 4, 5, 6
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM + BN) * BK * 8
// requires:  N % 2 == 0, K % 2 == 0, STAGES >= 2, BM % WM == 0, BN % WN == 0, WM % 8 == 0, WN % 16 == 0, BK % 16 == 0,
//            32 % BK == 0, 8 % (BM // WM * (BN // WN)) == 0, BM // WM * (BN // WN) >= 2,
//            WM * WN <= 48 * 48, WM * WN * BK <= 64 * 1024, (BM + BN) * BK <= BM // WM * (BN // WN) * 1024,
//            BM % (BM // WM * (BN // WN) * 4) == 0, BN * BK % (BM // WM * (BN // WN) * 64) == 0,
//            STAGES * (BM + BN) * BK * 8 <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// In `dmma` a warp fetches the fragments of a step, 8 values of k, waits for them, and then multiplies. At each tile
// all warps meet, and then start all their copies at once. Meanwhile the tensor cores have nothing to do. Here the next
// multiplication is always ready:
// - Fragments: as soon as a fragment has been multiplied for the last time, that of the next step is fetched into the
//   same registers, while the warp multiplies the other fragments. The fragments of a tile's last step are in registers
//   before the barrier, and are multiplied after it. So no warp has to fetch before it can multiply.
// - Copies: the barrier sets a stage free. The copies into it are issued one by one, between multiplications. Their
//   addresses are computed once, and move on by a constant.
//
// There is little room between multiplications, so fetches have to be few. A lane fetches two elements at a time, 16
// bytes, into neighbouring registers. The instruction expects such pairs. A pair of its second factor has two values of
// k: neighbours in a row of A. A pair of its first factor has the same k: neighbours in a row of B. So A has to be the
// second factor: this kernel computes the transpose, C' = B' A', like `register-operand`.
//
// The values of k may be given to the instruction in any order, if it is the same for both factors. Rows and columns
// may be, too, if the results go where they belong. With the order chosen here, and rows swizzled as in `mma`, no two
// lanes that are served together read from the same bank, and no padding is needed.
//
//     cudamm show --diff dmma dmma-pipelined --dtype float64

#include <cuda_pipeline_primitives.h>

#include "tensor_cores.cuh"

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)

// Tiles lie in bands of 16 columns, 128 bytes of each row, swizzled: piece p of 16 bytes of row r lies at place
// p ^ r % 8. In doubles: the size of A's tile, and that of a stage (both tiles).
const int BAND = 16, PIECES = 8, A_TILE = BM * BK, STAGE = A_TILE + BK * BN;
// A thread copies a piece. All threads together copy COPY_ROWS rows of bands at a time.
const int COPY_ROWS = THREADS / PIECES;
const int A_COPIES = A_TILE / BAND / COPY_ROWS, COPIES = STAGE / BAND / COPY_ROWS;  // of each thread
// A warp multiplies bands of 16 columns of B by groups of 8 rows of A.
const int BANDS = WN / BAND, GROUPS = WM / 8;

extern __shared__ __align__(128) double ring[];

__global__ void __launch_bounds__(THREADS)
dmma_pipelined(int M, int N, int K, const double *A, const double *B, double *C) {
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_X * WM, warp_col = warp % WARPS_X * WN;

    // Where this thread's copies begin.
    const int piece = threadIdx.x % PIECES, a_row = threadIdx.x / PIECES;
    const int b_k = threadIdx.x / PIECES % BK, b_col = threadIdx.x / PIECES / BK * BAND + piece * 2;
    const int rows = M - row0 - a_row, columns = N - col0 - b_col;        // those that exist from here on
    const double *a_source = A + (size_t)(row0 + a_row) * K + piece * 2;  // in the next tile to be copied
    const double *b_source = B + (size_t)b_k * N + col0 + b_col;
    int k_left = K;  // from that tile on
    double *const a_target = ring + a_row * BAND + (piece ^ a_row % 8) * 2;
    double *const b_target = ring + A_TILE + threadIdx.x / PIECES * BAND + (piece ^ b_k % 8) * 2;

    // Start a copy of the tile into the stage at `offset`; after the last copy go on to the next tile. Elements beyond
    // the edge are not read, but filled with zeros.
    const auto copy = [&](int i, int offset) {
        if (i < A_COPIES) {
            const int row = i * COPY_ROWS % BM, k = i * COPY_ROWS / BM * BAND;
            const bool exists = row < rows && k + piece * 2 < k_left;
            __pipeline_memcpy_async(a_target + offset + i * COPY_ROWS * BAND, a_source + (size_t)row * K + k, 16,
                                    exists ? 0 : 16);
        } else {
            const int first = (i - A_COPIES) * COPY_ROWS, k = first % BK, column = first / BK * BAND;
            const bool exists = column < columns && b_k + k < k_left;
            __pipeline_memcpy_async(b_target + offset + first * BAND, b_source + (size_t)k * N + column, 16,
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

    // The fragments. A lane has rows 2 c and 2 c + 1 of B, of each row columns 2 r and 2 r + 1; and columns 2 c and
    // 2 c + 1 of A, of one row of each group. The lanes take a group's rows in the order 0, 4, 1, 5, 2, 6, 3, 7: so the
    // 8 lanes of a quarter of the warp, which are served together, read from different banks.
    const int c = lane % 4, r = lane / 4, row = r / 2 + r % 2 * 4;
    double b[BANDS][4], a[GROUPS][2];
    const double *const a_lane[2] = {ring + (warp_row + row) * BAND + (c ^ row) * 2,         // 8 of the band's columns
                                     ring + (warp_row + row) * BAND + ((c + 4) ^ row) * 2};  // the other 8
    const double *const b_lane[2] = {ring + A_TILE + warp_col * BK + c * 2 * BAND + (r ^ c * 2) * 2,
                                     ring + A_TILE + warp_col * BK + (c * 2 + 1) * BAND + (r ^ (c * 2 + 1)) * 2};
    int offset = 0;  // of the stage that is read
    const auto fetch_b = [&](int i, int k) {
        for (int part = 0; part < 2; ++part)
            *(double2 *)&b[i][part * 2] = *(const double2 *)&b_lane[part][offset + (i * BK + k) * BAND];
    };
    const auto fetch_a = [&](int j, int k) {
        *(double2 *)a[j] = *(const double2 *)&a_lane[k / 8 % 2][offset + (k / BAND * BM + j * 8) * BAND];
    };

    // Multiply the fragments. Meanwhile fetch those for the step that begins at `next_k`, and start the copies into a
    // stage, if one is free.
    double sums[BANDS][GROUPS][4] = {};
    const auto multiply = [&](int next_k, bool is_free, int free_offset) {
#pragma unroll
        for (int i = 0; i < BANDS; ++i)
#pragma unroll
            for (int j = 0; j < GROUPS; ++j) {
                multiply_add(sums[i][j], b[i], a[j]);
                if (i > 0 && j == 0) fetch_b(i - 1, next_k);  // the previous band has been used for the last time
                if (i == BANDS - 1 && j > 0) fetch_a(j - 1, next_k);
                const int done = i * GROUPS + j, all = BANDS * GROUPS;
#pragma unroll
                for (int n = done * COPIES / all; n < (done + 1) * COPIES / all; ++n)
                    if (is_free) copy(n, free_offset);
            }
        fetch_a(GROUPS - 1, next_k);
        fetch_b(BANDS - 1, next_k);
    };

    __pipeline_wait_prior(STAGES - 1);  // this thread's copies of the first tile have arrived
    __syncthreads();                    // and those of all other threads
#pragma unroll
    for (int i = 0; i < BANDS; ++i) fetch_b(i, 0);
#pragma unroll
    for (int j = 0; j < GROUPS; ++j) fetch_a(j, 0);
    for (int k0 = BK;; k0 += BK) {
#pragma unroll
        for (int k = 8; k < BK; k += 8) multiply(k, false, 0);
        __pipeline_wait_prior(STAGES - 2);  // the next tile has arrived
        __syncthreads();                    // and nobody reads this tile any more
        if (k0 >= K) break;  // this branch also keeps the compiler from moving multiplications to before the barrier
        const int free_offset = offset;
        offset = offset == (STAGES - 1) * STAGE ? 0 : offset + STAGE;
        multiply(0, true, free_offset);  // this tile's last step; the fetches are of the next tile
    }
#pragma unroll
    for (int i = 0; i < BANDS; ++i)
#pragma unroll
        for (int j = 0; j < GROUPS; ++j) multiply_add(sums[i][j], b[i], a[j]);

    // A lane has two columns of two rows of each group, here c and c + 4.
    for (int i = 0; i < BANDS; ++i)
        for (int j = 0; j < GROUPS; ++j)
            for (int half = 0; half < 2; ++half) {
                const int c_row = row0 + warp_row + j * 8 + half * 4 + c, c_col = col0 + warp_col + i * BAND + r * 2;
                if (c_row < M && c_col < N)
                    *(double2 *)&C[(size_t)c_row * N + c_col] = double2{sums[i][j][half], sums[i][j][half + 2]};
            }
}

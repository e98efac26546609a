// Tensor cores for double: the same scheme as in `mma`, with padding in the place of the swizzle.
//
// sources:   PTX ISA (mma with .f64)
// needs:     sm_80
// types:     float64
// ceiling:   2
// param:     BM = 128 in 64, 128
// param:     BN = 128 in 64, 128
// param:     BK = 16 in 8, 16
// param:     WM = 64 in 32, 64
// param:     WN = 32 in 16, 32
// param:     STAGES = 3 in 3, 4
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * (BK + 4) + BK * (BN + 4)) * 8
// requires:  N % 2 == 0, K % 2 == 0, STAGES >= 2, BM % WM == 0, BN % WN == 0, WM % 16 == 0, WN % 8 == 0, BK % 8 == 0,
//            BM // WM * (BN // WN) <= 16, (WM * WN // 16 + 64) * BM // WM * (BN // WN) * 32 <= 64 * 1024,
//            STAGES * (BM * (BK + 4) + BK * (BN + 4)) * 8 <= 163 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// The tensor cores of data centre GPUs multiply doubles too, and they round every sum as an FMA does. A fragment is
// loaded without ldmatrix, which moves pairs of 16-bit elements: each lane reads its elements itself, one at a time.
//
// The 32 lanes read 8 rows of 4 neighbouring doubles of A, and 4 rows of 8 neighbouring doubles of B. Shared memory
// delivers 16 doubles at a time, to half a warp: 4 rows of 4 doubles. Rows of 16 doubles would all begin in bank 0. So
// 4 doubles of padding after each row shift the next one, and 4 rows lie in different banks.
//
//     cudamm show --diff warp-tile dmma --dtype float64

#include <cuda_pipeline_primitives.h>

#include "tensor_cores.cuh"

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)

// In doubles: the distance between rows of the tiles, the size of A's tile, and that of a stage (both tiles).
const int A_PITCH = BK + 4, B_PITCH = BN + 4, A_TILE = BM * A_PITCH, STAGE = A_TILE + BK * B_PITCH;

extern __shared__ __align__(16) double ring[];

__global__ void __launch_bounds__(THREADS)
dmma(int M, int N, int K, const double *A, const double *B, double *C) {
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_row = warp / WARPS_X * WM, warp_col = warp % WARPS_X * WN;
    const int tiles = (K + BK - 1) / BK;

    // Start the copies of a pair of tiles into a stage of the ring, two doubles at a time. Elements beyond the edge are
    // filled with zeros.
    const auto copy = [&](int tile) {
        if (tile < tiles) {
            double *const stage = ring + tile % STAGES * STAGE;
            const int k0 = tile * BK;
            for (int i = threadIdx.x; i < BM * BK / 2; i += THREADS) {
                const int row = i / (BK / 2), k = i % (BK / 2) * 2;
                const bool exists = row0 + row < M && k0 + k < K;
                const double *const source = exists ? &A[(row0 + row) * K + k0 + k] : A;
                __pipeline_memcpy_async(&stage[row * A_PITCH + k], source, 16, exists ? 0 : 16);
            }
            for (int i = threadIdx.x; i < BK * BN / 2; i += THREADS) {
                const int k = i / (BN / 2), col = i % (BN / 2) * 2;
                const bool exists = k0 + k < K && col0 + col < N;
                const double *const source = exists ? &B[(k0 + k) * N + col0 + col] : B;
                __pipeline_memcpy_async(&stage[A_TILE + k * B_PITCH + col], source, 16, exists ? 0 : 16);
            }
        }
        __pipeline_commit();  // a group for each tile, even an empty one: the wait below counts groups
    };
    for (int tile = 0; tile < STAGES - 1; ++tile) copy(tile);

    double sums[WM / 16][WN / 8][4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the tile have arrived
        __syncthreads();                    // those of all threads; and nobody reads the previous tile any more
        copy(tile + STAGES - 1);            // it overwrites the previous tile
        const double *const a_tile = ring + tile % STAGES * STAGE, *const b_tile = a_tile + A_TILE;
        for (int k = 0; k < BK; k += 8) {
            double a[WM / 16][4], b[WN / 8][2];
            for (int i = 0; i < WM / 16; ++i)
                for (int part = 0; part < 4; ++part)  // upper and lower half, first of 4 columns, then of 4 more
                    a[i][part] =
                        a_tile[(warp_row + i * 16 + part % 2 * 8 + lane / 4) * A_PITCH + k + part / 2 * 4 + lane % 4];
            for (int j = 0; j < WN / 8; ++j)
                for (int part = 0; part < 2; ++part)
                    b[j][part] = b_tile[(k + part * 4 + lane % 4) * B_PITCH + warp_col + j * 8 + lane / 4];
            for (int i = 0; i < WM / 16; ++i)
                for (int j = 0; j < WN / 8; ++j) multiply_add(sums[i][j], a[i], b[j]);
        }
    }

    for (int i = 0; i < WM / 16; ++i)
        for (int j = 0; j < WN / 8; ++j)
            for (int half = 0; half < 2; ++half) {
                const int row = row0 + warp_row + i * 16 + half * 8 + lane / 4;
                const int col = col0 + warp_col + j * 8 + lane % 4 * 2;
                if (row < M && col < N)
                    *(double2 *)&C[row * N + col] = double2{sums[i][j][2 * half], sums[i][j][2 * half + 1]};
            }
}

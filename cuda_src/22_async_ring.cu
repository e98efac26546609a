// cp.async copies the next tiles into a ring of STAGES buffers while the threads compute on the current one.
//
// sources:   CUDA C++ Programming Guide (asynchronous copies); CUTLASS (multistage pipelines); PTX ISA (cp.async)
// needs:     sm_80
// param:     BM = 256 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 8 in 8, 16
// param:     WM = 32 in 32, 64
// param:     WN = 128 in 32, 64, 128
// param:     TM = 8 in 4, 8
// param:     TN = 16 in 8, 16
// param:     STAGES = 4 in 2, 3, 4, 5
// types:     float32
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * (BK + 4) + BK * BN) * 4
// requires:  N % 4 == 0, K % 4 == 0,
//            BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN, WM // TM % 2 == 0, WN // TN % 2 == 0,
//            BM // WM * (BN // WN) <= 8, STAGES * (BM * (BK + 4) + BK * BN) * 4 <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * 4, M * N * 4
// sum-order: k
//
// In `row-tile` a tile passes through registers: a thread loads its part, waits for it and stores it. The instruction
// cp.async copies 16 bytes from global to shared memory without a register: a thread starts a copy, goes on and waits
// much later. The copies of a tile form a group, and __pipeline_wait_prior(n) waits for all groups of this thread but
// the last n.
//
// The tiles lie in a ring of STAGES buffers. While the block computes on one tile, STAGES - 1 others are being copied:
// their latency is hidden if computing on that many tiles takes longer. One barrier per tile is enough: after it the
// tile is complete, and all threads have finished with the previous tile, whose buffer is filled next. No register
// holds a tile meanwhile, so a thread can have 8 x 16 sums: 6 reads of 16 bytes for 128 multiply-adds.
//
// The last argument of __pipeline_memcpy_async is a number of bytes that become zeros instead of copies: all 16 for
// elements beyond the edge, also for tiles beyond the last one.
//
//     cudamm show --diff row-tile async-ring

#include <cuda_pipeline.h>

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)
// The threads of a warp form LANES_Y rows of LANES_X threads.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

// 16 bytes. Because of the alignment the compiler loads and stores a Vector by one instruction.
const int VEC = 4;
struct alignas(16) Vector {
    float v[VEC];
};

struct Stage {
    Vector As[BM][BK / VEC + 1];  // rows as in A, padded by one Vector
    Vector Bs[BK][BN / VEC];
};

extern __shared__ Stage ring[];

__global__ void __launch_bounds__(THREADS)
async_ring(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    // Lanes 0 and 1 form a column of the warp, lanes 0 and 2 a row, and so on: in each read of either tile at least
    // two threads read the same 16 bytes.
    const int lane_y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, lane_x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // The thread's first row, and the first column of its first group of VEC columns; its next row lies LANES_Y rows
    // further down, its next group LANES_X groups further right.
    const int thread_row = warp / WARPS_X * WM + lane_y;
    const int thread_col = warp % WARPS_X * WN + lane_x * VEC;

    // Start the copies of a tile, and make them a group.
    const auto copy_tile = [&](int tile) {
        Stage &stage = ring[tile % STAGES];
        const int k0 = tile * BK;
        for (int i = threadIdx.x; i < BM * BK / VEC; i += THREADS) {
            const int r = i / (BK / VEC), k = i % (BK / VEC) * VEC;
            const bool exists = row0 + r < M && k0 + k < K;
            const float *const source = exists ? &A[(row0 + r) * K + k0 + k] : A;
            __pipeline_memcpy_async(&stage.As[r][k / VEC], source, 16, exists ? 0 : 16);
        }
        for (int i = threadIdx.x; i < BK * BN / VEC; i += THREADS) {
            const int k = i / (BN / VEC), c = i % (BN / VEC) * VEC;
            const bool exists = k0 + k < K && col0 + c < N;
            const float *const source = exists ? &B[(k0 + k) * N + col0 + c] : B;
            __pipeline_memcpy_async(&stage.Bs[k][c / VEC], source, 16, exists ? 0 : 16);
        }
        __pipeline_commit();
    };

    // Load the first tiles.
    for (int tile = 0; tile < STAGES - 1; ++tile) copy_tile(tile);

    float sum[TM][TN] = {};
    for (int tile = 0; tile * BK < K; ++tile) {
        __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the tile are complete
        __syncthreads();                    // and those of all other threads

        // Load the tile that is STAGES - 1 ahead.
        copy_tile(tile + STAGES - 1);

        // Compute.
        const Stage &stage = ring[tile % STAGES];
        Vector reg_a[TM], reg_b[TN / VEC];  // A: VEC values of k of each row; B: one value of k
#pragma unroll VEC
        for (int dot_k = 0; dot_k < BK; ++dot_k) {
            if (dot_k % VEC == 0)
                for (int i = 0; i < TM; ++i) reg_a[i] = stage.As[thread_row + i * LANES_Y][dot_k / VEC];
            for (int j = 0; j < TN / VEC; ++j) reg_b[j] = stage.Bs[dot_k][thread_col / VEC + j * LANES_X];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) sum[i][j] += reg_a[i].v[dot_k % VEC] * reg_b[j / VEC].v[j % VEC];
        }
    }

    // Store the results.
    for (int i = 0; i < TM; ++i) {
        const int r = row0 + thread_row + i * LANES_Y;
        if (r >= M) continue;
        for (int j = 0; j < TN / VEC; ++j) {
            const int c = col0 + thread_col + j * LANES_X * VEC;
            Vector result;
            for (int w = 0; w < VEC; ++w) result.v[w] = sum[i][j * VEC + w];
            if (c < N) *(Vector *)&C[r * N + c] = result;
        }
    }
}

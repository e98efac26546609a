// Double precision on Hopper: the copy engine fills the ring, and eight warps multiply without waiting for each other.
//
// sources:   CUTLASS (warp-specialized persistent kernels for sm_90); PTX ISA (setmaxnreg)
// needs:     sm_90a
// types:     float64
// ceiling:   2
// param:     BM = 128 in 64, 96, 112, 128, 192
// param:     BN = 128 in 64, 96, 128, 192
// param:     DEPTH = 16 in 16, 32
// param:     WM = 32 in 32, 48, 56, 64
// param:     WN = 64 in 32, 48, 64
// param:     STAGES = 5 in 3, 4, 5, 6
// param:     STRIP = 8 in 4, 8, 16
// param:     BLOCKS = 132 in 66, 114, 132
// args:      tensor_map(A, BM, 16, 128), tensor_map(B, DEPTH, 16, 128), M, N, K, C
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * ((BM + BN) * DEPTH * 8 + 16)
// requires:  N % 2 == 0, K % 2 == 0, STAGES >= 2, STRIP >= 1,
//            BM % WM == 0, BN % WN == 0, WM % 8 == 0, WN % 16 == 0, BM % 8 == 0,
//            DEPTH % 16 == 0, BM // WM * (BN // WN) == 8, WM * WN <= 48 * 48, WM * WN * DEPTH <= 64 * 1024,
//            STAGES * ((BM + BN) * DEPTH * 8 + 16) <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// In `dmma-pipelined` all warps of a block meet at each tile, and each warp issues some of the copies. Here eight warps
// only fetch fragments, as there, and multiply. The copies are those of `persistent`: one thread, the producer, starts
// the copies of whole boxes, which the copy engine swizzles. Each stage has two barriers. At `full` a warp waits for
// the stage's tiles, which have usually arrived long before. At `empty` it reports that it has multiplied what it
// fetched from the stage. A warp waits for another one only if it is a whole ring ahead. So the warps pause at
// different times, and while one pauses, another one multiplies.
//
// A block persists: it computes one tile of C after the other. The producer loads for the next tile while the warps end
// the current one, and a warp that has stored its sums begins with the next tile at once.
//
// The instruction wgmma, which reads shared memory itself, has no form for double. So fragments go through registers.
// The sums of a thread take 128 of them, or 144 if a warp has 48 x 48. With its fragments a thread needs more than the
// 168 that each of 384 threads can have. So the producer's warps give most of theirs away (setmaxnreg).
//
//     cudamm show --diff dmma-pipelined dmma-specialized --dtype float64

#include "hopper.cuh"

#define WARPS_X (BN / WN)

// Tiles lie in bands of 16 columns, 128 bytes of each row, swizzled: piece p of 16 bytes of row r lies at place
// p ^ r % 8. In doubles: the size of A's tile, and that of a stage (both tiles).
const int WARPS = 8, BAND = 16, A_TILE = BM * DEPTH, STAGE = A_TILE + DEPTH * BN;
// A warp multiplies bands of 16 columns of B by groups of 8 rows of A.
const int BANDS = WN / BAND, GROUPS = WM / 8;

extern __shared__ __align__(1024) double ring[];

__global__ void __launch_bounds__(32 * WARPS + 128, 1)
dmma_specialized(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
                 int M, int N, int K, double *C) {
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE), *const empty = full + STAGES;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int steps = (K + DEPTH - 1) / DEPTH;  // along k, of each tile of C
    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + BN - 1) / BN, tiles = tile_rows * tile_columns;

    allow_next_kernel();
    ring_init<STAGES>(full, empty, WARPS);  // a lane of each warp that multiplies reports
    __syncthreads();
    wait_for_previous_kernel();

    RingPosition<STAGES> position;
    if (warp >= WARPS) {  // the producer
        registers_decrease<24>();
        if (threadIdx.x != 32 * WARPS) return;
        for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
            const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
            for (int step = 0; step < steps; ++step, position.next()) {
                double *const stage = ring + position.stage * STAGE;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
                barrier_arrive_expect(barrier, STAGE * sizeof(double));
                for (int band = 0; band < DEPTH / BAND; ++band)
                    copy_box(stage + band * BM * BAND, &map_A, at.y * BM, step * DEPTH + band * BAND, barrier);
                for (int band = 0; band < BN / BAND; ++band)
                    copy_box(stage + A_TILE + band * DEPTH * BAND, &map_B, step * DEPTH, at.x * BN + band * BAND,
                             barrier);
            }
        }
        return;
    }

    // The warps that multiply.
    registers_increase<240>();
    const int warp_row = warp / WARPS_X * WM, warp_col = warp % WARPS_X * WN;
    // The fragments, as in `dmma-pipelined`: rows 2 c and 2 c + 1 of B, of each row columns 2 r and 2 r + 1;
    // and columns 2 c and 2 c + 1 of A, of one row of each group.
    const int c = lane % 4, r = lane / 4, row = r / 2 + r % 2 * 4;
    double b[BANDS][4], a[GROUPS][2];
    const double *const a_lane[2] = {ring + (warp_row + row) * BAND + (c ^ row) * 2,         // 8 of the band's columns
                                     ring + (warp_row + row) * BAND + ((c + 4) ^ row) * 2};  // the other 8
    const double *const b_lane[2] = {ring + A_TILE + warp_col * DEPTH + c * 2 * BAND + (r ^ c * 2) * 2,
                                     ring + A_TILE + warp_col * DEPTH + (c * 2 + 1) * BAND + (r ^ (c * 2 + 1)) * 2};
    int offset = 0;  // of the stage that is read
    const auto fetch_b = [&](int i, int k) {
        for (int part = 0; part < 2; ++part)
            *(double2 *)&b[i][part * 2] = *(const double2 *)&b_lane[part][offset + (i * DEPTH + k) * BAND];
    };
    const auto fetch_a = [&](int j, int k) {
        *(double2 *)a[j] = *(const double2 *)&a_lane[k / 8 % 2][offset + (k / BAND * BM + j * 8) * BAND];
    };
    for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
        const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
        double sums[BANDS][GROUPS][4] = {};
        // Multiply the fragments, and fetch those for the 8 values of k from `next_k` on.
        const auto multiply = [&](int next_k) {
#pragma unroll
            for (int i = 0; i < BANDS; ++i)
#pragma unroll
                for (int j = 0; j < GROUPS; ++j) {
                    multiply_add(sums[i][j], b[i], a[j]);
                    if (i > 0 && j == 0) fetch_b(i - 1, next_k);  // the previous band has been used for the last time
                    if (i == BANDS - 1 && j > 0) fetch_a(j - 1, next_k);
                }
            fetch_a(GROUPS - 1, next_k);
            fetch_b(BANDS - 1, next_k);
        };

        barrier_wait(&full[position.stage], position.parity);
        offset = position.stage * STAGE;
#pragma unroll
        for (int i = 0; i < BANDS; ++i) fetch_b(i, 0);
#pragma unroll
        for (int j = 0; j < GROUPS; ++j) fetch_a(j, 0);
        for (int step = 1;; ++step) {
#pragma unroll
            for (int k = 8; k < DEPTH; k += 8) multiply(k);
            if (step == steps) break;
            Barrier *const previous = &empty[position.stage];
            position.next();
            barrier_wait(&full[position.stage], position.parity);
            offset = position.stage * STAGE;
            multiply(0);  // the last fragments of the previous stage; it fetches from the next stage
            __syncwarp();
            if (lane == 0) barrier_arrive(previous);
        }
#pragma unroll
        for (int i = 0; i < BANDS; ++i)
#pragma unroll
            for (int j = 0; j < GROUPS; ++j) multiply_add(sums[i][j], b[i], a[j]);
        __syncwarp();
        if (lane == 0) barrier_arrive(&empty[position.stage]);
        position.next();

#pragma unroll
        for (int i = 0; i < BANDS; ++i)
#pragma unroll
            for (int j = 0; j < GROUPS; ++j)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int c_row = at.y * BM + warp_row + j * 8 + half * 4 + c;
                    const int c_col = at.x * BN + warp_col + i * BAND + r * 2;
                    if (c_row < M && c_col < N)
                        *(double2 *)&C[(size_t)c_row * N + c_col] = double2{sums[i][j][half], sums[i][j][half + 2]};
                }
    }
}

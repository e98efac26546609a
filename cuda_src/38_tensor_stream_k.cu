// Tiles are cut along k where whole ones would leave multiprocessors idle.
//
// sources:   Osama et al.: Stream-K (2023); CUTLASS (stream-k for sm_90)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BN = 256 in 64, 128, 192, 256
// param:     STAGES = 3 in 3, 4, 5, 6
// param:     STRIP = 16 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 132
// args:      tensor_map(A, 128, 64, 128), tensor_map(B, 64, 64, 128), tensor_map(C, 64, 64, 128), M, N, K
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * ((128 + BN) * 64 * sizeof(element) + 16) + 4 * 64 * 128
// requires:  N % 8 == 0, K % 8 == 0, BN % 64 == 0, BN >= 64, BN <= 256, STAGES >= 2, STRIP >= 1,
//            STAGES * ((128 + BN) * 64 * sizeof(element) + 16) + 4 * 64 * 128 <= 227 * 1024
//
// In a *round* each block computes one tile. `persistent` keeps all multiprocessors busy only if the number of tiles is
// a multiple of theirs: 288 tiles on 132 multiprocessors take three rounds, and in the last one 108 of them are idle.
// Smaller tiles would spread better, but each needs more bytes for a multiplication. Here, as in `stream-k`, the first
// tiles are cut along k: as many as the incomplete round and one complete round have. Each block computes an equal
// share of their steps. Several blocks then have parts of the same tile: all but the last write their sums, which are
// float, and the last one adds them to its own (`complete` in schedule.cuh). Unlike in `stream-k`, that block may have
// to wait for the others.
//
// If there are fewer tiles than multiprocessors, all are cut: a product of 64 x 64 x 65536 has a single tile, and keeps
// all multiprocessors busy. No tile is cut if the incomplete round is nearly full (MIN_IDLE): adding up takes time too.
//
//     cudamm show --diff dependent-launch tensor-stream-k --dtype float16

#include "hopper.cuh"
#include "schedule.cuh"

const int BM = 128, CONSUMERS = BM / 64;  // consumer warpgroups
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN / 64 * BAND_BYTES;

const int MIN_IDLE = 12;   // tiles are cut if blocks would otherwise be idle for this number of steps on average
const int MIN_STEPS = 4;   // minimum number of steps for a block

extern __shared__ __align__(1024) char ring[];

__device__ Parts<BLOCKS, CONSUMERS, BN / 2> parts;

__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
tensor_stream_k(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const boxes = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(boxes + CONSUMERS * STORE_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + BN - 1) / BN, tiles = tile_rows * tile_columns;
    Schedule work(tiles, steps, MIN_IDLE, MIN_STEPS);

    allow_next_kernel();
    ring_init<STAGES>(full, empty, 4 * CONSUMERS);  // a lane of each warp of the consumers reports
    __syncthreads();
    wait_for_previous_kernel();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {
        registers_decrease<40>();
        if (thread != 0) return;
        for (; work.has_work(); work.next()) {
            const int2 at = tile_at<STRIP>(work.tile, tile_rows, tile_columns);
            for (int step = work.step_begin; step < work.step_end; ++step, position.next()) {
                char *const stage = ring + position.stage * STAGE_BYTES;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
                barrier_arrive_expect(barrier, STAGE_BYTES);
                copy_box(stage, &map_A, at.y * BM, step * BK, barrier);
                for (int band = 0; band < BN / 64; ++band)
                    copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, step * BK, at.x * BN + band * 64, barrier);
            }
        }
        return;
    }

    registers_increase<232>();
    char *const own_boxes = boxes + warpgroup * STORE_BYTES;
    int turn = 0;
    for (; work.has_work(); work.next()) {
        const int2 at = tile_at<STRIP>(work.tile, tile_rows, tile_columns);
        float sums[BN / 2] = {};
        int previous = 0;  // the stage of the previous step
        for (int step = work.step_begin; step < work.step_end; ++step, position.next()) {
            const char *const stage = ring + position.stage * STAGE_BYTES;
            const TileDescriptor a(stage + warpgroup * 64 * ROW_BYTES, GROUP_BYTES, 0);
            const TileDescriptor b(stage + A_BYTES, GROUP_BYTES, BAND_BYTES);
            barrier_wait(&full[position.stage], position.parity);
            multiply_add_tiles<element>(sums, a, b);
            multiply_wait<1>(sums);  // those of the previous step have ended
            if (step > work.step_begin && lane == 0) barrier_arrive(&empty[previous]);
            previous = position.stage;
        }
        multiply_wait<0>(sums);
        if (lane == 0) barrier_arrive(&empty[previous]);
        if (at.y * BM + warpgroup * 64 >= M || !complete(parts, work, sums)) continue;  // rows beyond the edge: no sums

        store_boxes<element>(own_boxes, turn, &map_C, at.y * BM + warpgroup * 64, at.x * BN, warpgroup, sums);
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
}

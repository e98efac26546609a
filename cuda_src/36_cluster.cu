// Two blocks share tiles: each loads half of B's tile, and the copy engine writes it into the memory of both.
//
// sources:   CUDA C++ Programming Guide (thread block clusters); PTX ISA (multicast, mapa, barrier.cluster)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BN = 256 in 128, 256
// param:     STAGES = 3 in 3, 4, 5, 6
// param:     STRIP = 8 in 2, 4, 8, 16
// param:     BLOCKS = 132 in 66, 114, 128, 132
// args:      tensor_map(A, 128, 64, 128), tensor_map(B, 64, 64, 128), tensor_map(C, 64, 64, 128), M, N, K
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * ((128 + BN) * 64 * sizeof(element) + 16) + 4 * 64 * 128
// requires:  N % 8 == 0, K % 8 == 0, BN == 128 or BN == 256, STAGES >= 2, STRIP >= 1, BLOCKS % 2 == 0,
//            STAGES * ((128 + BN) * 64 * sizeof(element) + 16) + 4 * 64 * 128 <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / 256)) * sizeof(element),
//            M * N * sizeof(element)
//
// In `persistent` every block loads its own tiles of A and B. Two blocks that compute tiles of C one below the other
// load the same tiles of B, each for itself, from the L2 cache. Here two such blocks form a *cluster*: they run at the
// same time on neighbouring multiprocessors, and each can write to the shared memory of the other. Each block loads its
// own tile of A and half of the tile of B. The copy engine *multicasts* that half: it writes it into the shared memory
// of both blocks. With BN = 256 the two blocks together load a third less.
//
// A stage of a block's ring is now filled by two producers. Its barrier `full` counts the bytes of both. A producer
// writes into the stages of two blocks, so it may begin only when both stages are empty. Therefore each consumer
// reports an empty stage twice: at the barrier `empty` of its own block, and at that of the other one.
//
// All threads of the cluster meet at the beginning, because the barriers of both blocks must exist before they are
// used. They meet again at the end: no block may end while the other one can still write into its shared memory.
//
//     cudamm show --diff dependent-launch cluster --dtype float16

#include "hopper.cuh"

const int CLUSTER = 2;                    // blocks
const int BM = 128, CONSUMERS = BM / 64;  // consumer warpgroups
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN / 64 * BAND_BYTES;

extern __shared__ __align__(1024) char ring[];

__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(128 * (CONSUMERS + 1), 1)
cluster(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
        const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const boxes = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(boxes + CONSUMERS * STORE_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
    // A cluster computes two tiles, one below the other: its tile has 2 BM rows.
    const int rank = blockIdx.x % CLUSTER, cluster_id = blockIdx.x / CLUSTER, clusters = BLOCKS / CLUSTER;
    const int tile_rows = (M + CLUSTER * BM - 1) / (CLUSTER * BM), tile_columns = (N + BN - 1) / BN;
    const int tiles = tile_rows * tile_columns;

    allow_next_kernel();
    ring_init<STAGES>(full, empty, CLUSTER * 4 * CONSUMERS);  // a lane of each warp of both blocks' consumers reports
    cluster_sync();
    wait_for_previous_kernel();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        for (int tile = cluster_id; thread == 0 && tile < tiles; tile += clusters) {
            const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
            for (int step = 0; step < steps; ++step, position.next()) {
                char *const stage = ring + position.stage * STAGE_BYTES;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
                barrier_arrive_expect(barrier, STAGE_BYTES);
                copy_box(stage, &map_A, (at.y * CLUSTER + rank) * BM, step * BK, barrier);
                for (int i = 0; i < BN / 64 / CLUSTER; ++i) {
                    const int band = rank * (BN / 64 / CLUSTER) + i;
                    copy_box_to_both(stage + A_BYTES + band * BAND_BYTES, &map_B, step * BK, at.x * BN + band * 64,
                                     barrier);
                }
            }
        }
        cluster_sync();
        return;
    }

    // The consumers.
    registers_increase<232>();
    const auto report_empty = [&](int stage) {
        if (lane < CLUSTER) barrier_arrive_at(&empty[stage], lane);  // a lane for each block
    };
    char *const own_boxes = boxes + warpgroup * STORE_BYTES;
    int turn = 0;
    for (int tile = cluster_id; tile < tiles; tile += clusters) {
        const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
        float sums[BN / 2] = {};
        int previous = 0;  // the stage of the previous step
        for (int step = 0; step < steps; ++step, position.next()) {
            const char *const stage = ring + position.stage * STAGE_BYTES;
            const TileDescriptor a(stage + warpgroup * 64 * ROW_BYTES, GROUP_BYTES, 0);
            const TileDescriptor b(stage + A_BYTES, GROUP_BYTES, BAND_BYTES);
            barrier_wait(&full[position.stage], position.parity);
            multiply_add_tiles<element>(sums, a, b);
            multiply_wait<1>(sums);  // those of the previous step have ended
            if (step > 0) report_empty(previous);
            previous = position.stage;
        }
        multiply_wait<0>(sums);
        report_empty(previous);

        store_boxes<element>(own_boxes, turn, &map_C, (at.y * CLUSTER + rank) * BM + warpgroup * 64, at.x * BN,
                             warpgroup, sums);
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
    cluster_sync();
}

// Tiles of a height that fills whole waves: few multiprocessors are idle in the last one.
//
// sources:   CUTLASS (tile shapes for sm_90); NVIDIA: Matrix Multiplication Background User's Guide (wave quantization)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BM = 256 in 64, 96, 128, 144, 160, 192, 224, 256
// param:     STAGES = 3 in 3, 4, 5, 6, 8
// param:     CLUSTER = 2 in 1, 2
// param:     STRIP = 16 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 132
// args:      tensor_map(A, BM / CLUSTER, 64, 128), tensor_map(B, 64, 64, 128), tensor_map(C, BM, 64, 128), M, N, K
// threads:   384
// grid:      BLOCKS
// shared-bytes: STAGES * ((BM + 128) * 64 * sizeof(element) + 16) + BM * 128 * sizeof(element)
// requires:  N % 8 == 0, K % 8 == 0, BM % 16 == 0, STAGES >= 2, BLOCKS % CLUSTER == 0,
//            STAGES * ((BM + 128) * 64 * sizeof(element) + 16) + BM * 128 * sizeof(element) <= 227 * 1024

#include "hopper.cuh"

const int CONSUMERS = 2, BN = CONSUMERS * 64;  // a consumer warpgroup has 64 columns of the tile of C
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + CONSUMERS * BAND_BYTES;

extern __shared__ __align__(1024) char ring[];

__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(128 * (CONSUMERS + 1), 1)
full_waves(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
           const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const c_tile = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(c_tile + CONSUMERS * A_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
    // A cluster computes neighbouring tiles: its tile has CLUSTER * BN columns.
    const int rank = blockIdx.x % CLUSTER, cluster_id = blockIdx.x / CLUSTER, clusters = BLOCKS / CLUSTER;
    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + CLUSTER * BN - 1) / (CLUSTER * BN);
    const int tiles = tile_rows * tile_columns;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 1);                         // arrives: the thread that starts the copies
            barrier_init(&empty[i], CLUSTER * 4 * CONSUMERS);  // arrive: lanes of all warps of all blocks' consumers
        }
        proxy_fence();
    }
    if (CLUSTER > 1) cluster_sync(); else __syncthreads();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        for (int tile = cluster_id; thread == 0 && tile < tiles; tile += clusters) {
            const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
            for (int step = 0; step < steps; ++step, position.next()) {
                char *const stage = ring + position.stage * STAGE_BYTES;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait in the first round
                barrier_arrive_expect(barrier, STAGE_BYTES);
                if (CLUSTER > 1)
                    copy_box_to_both(stage + rank * (A_BYTES / CLUSTER), &map_A, at.y * BM + rank * (BM / CLUSTER),
                                     step * BK, barrier);
                else
                    copy_box(stage, &map_A, at.y * BM, step * BK, barrier);
                for (int band = 0; band < CONSUMERS; ++band)
                    copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, step * BK,
                             (at.x * CLUSTER + rank) * BN + band * 64, barrier);
            }
        }
        if (CLUSTER > 1) cluster_sync();
        return;
    }

    // The consumers.
    registers_increase<232>();
    const auto report_empty = [&](int stage) {
        if (CLUSTER > 1) {
            if (lane < CLUSTER) barrier_arrive_at(&empty[stage], lane);  // a lane for each block
        } else if (lane == 0) {
            barrier_arrive(&empty[stage]);
        }
    };
    char *const c_box = c_tile + warpgroup * A_BYTES;
    for (int tile = cluster_id; tile < tiles; tile += clusters) {
        const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
        float sums[BM / 2] = {};
        int previous = 0;  // the stage of the previous step
        for (int step = 0; step < steps; ++step, position.next()) {
            const char *const stage = ring + position.stage * STAGE_BYTES;
            const TileDescriptor a(stage, GROUP_BYTES, 0);
            const TileDescriptor b(stage + A_BYTES + warpgroup * BAND_BYTES, GROUP_BYTES, BAND_BYTES);
            barrier_wait(&full[position.stage], position.parity);
            multiply_fence();
#pragma unroll
            for (int k = 0; k < BK; k += 16)  // 16 rows further down in B's band, 16 elements further along A's rows
                multiply_add_transposed<element>(sums, b + k * ROW_BYTES, a + k * (int)sizeof(element));
            multiply_commit();
            multiply_wait<1>(sums);  // those of the previous step have ended
            if (step > 0) report_empty(previous);
            previous = position.stage;
        }
        multiply_wait<0>(sums);
        report_empty(previous);

        if (thread == 0) stores_wait();  // the engine has read the previous results
        warpgroup_sync(warpgroup);
#pragma unroll
        for (int j = 0; j < BM / 8; j += 2) {  // groups of 8 rows of C
            const int row = (j + lane / 16) * 8 + lane % 8, piece = (warp * 2 + lane / 8 % 2) ^ row % 8;
            const float *const s = &sums[j * 4];
            store_matrices_transposed(c_box + row * ROW_BYTES + piece * 16, rounded_pair<element>(s[0], s[1]),
                                      rounded_pair<element>(s[2], s[3]), rounded_pair<element>(s[4], s[5]),
                                      rounded_pair<element>(s[6], s[7]));
        }
        proxy_fence();
        warpgroup_sync(warpgroup);
        if (thread == 0) {
            store_box(&map_C, at.y * BM, (at.x * CLUSTER + rank) * BN + warpgroup * 64, c_box);
            stores_commit();
        }
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
    if (CLUSTER > 1) cluster_sync();
}

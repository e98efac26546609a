// Tiles of a height that fills whole waves: few multiprocessors are idle in the last one.
//
// sources:   CUTLASS (tile shapes for sm_90); NVIDIA: Matrix Multiplication Background User's Guide (wave quantization)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BM = 256 in 64, 96, 128, 144, 160, 192, 224, 256
// param:     BN = 128 in 64, 128
// param:     STAGES = 4 in 3, 4, 5, 6, 8, 10
// param:     PIECE = 64 in 16, 32, 48, 64, 96, 112, 128, 144, 192
// param:     CLUSTER_ROWS = 1 in 1, 2
// param:     CLUSTER_COLUMNS = 2 in 1, 2
// param:     STRIP = 16 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 128, 132
// args:      tensor_map(A, BM / CLUSTER_COLUMNS, 64, 128), tensor_map(B, 64, 64, 128), tensor_map(C, PIECE, 64, 128), M, N, K
// threads:   384
// grid:      BLOCKS
// shared-bytes: STAGES * ((BM + BN) * 64 * sizeof(element) + 16) + 2 * min(2, BM * BN // 128 // PIECE) * PIECE * 128
// requires:  N % 8 == 0, K % 8 == 0, BM % 32 == 0 or BN == 128, BM * BN // 128 % PIECE == 0, STAGES >= 2, BLOCKS % (CLUSTER_ROWS * CLUSTER_COLUMNS) == 0,
//            CLUSTER_ROWS * CLUSTER_COLUMNS <= 2, BN // 64 % CLUSTER_ROWS == 0,
//            STAGES * ((BM + BN) * 64 * sizeof(element) + 16) + 2 * min(2, BM * BN // 128 // PIECE) * PIECE * 128 <= 227 * 1024

#include "hopper.cuh"

const int CONSUMERS = 2, CLUSTER = CLUSTER_ROWS * CLUSTER_COLUMNS, BANDS = BN / 64;
const int ROWS = BM * BANDS / CONSUMERS;  // a consumer warpgroup has ROWS x 64 of the tile of C
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BANDS * BAND_BYTES, PIECE_BYTES = PIECE * ROW_BYTES;
const int BOXES = PIECE == ROWS ? 1 : 2;  // of a consumer

extern __shared__ __align__(1024) char ring[];

__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(128 * (CONSUMERS + 1), 1)
full_waves(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
           const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const pieces = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(pieces + CONSUMERS * BOXES * PIECE_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
    const int rank = blockIdx.x % CLUSTER, cluster_id = blockIdx.x / CLUSTER, clusters = BLOCKS / CLUSTER;
    const int rank_row = CLUSTER_ROWS > 1 ? rank : 0, rank_column = CLUSTER_COLUMNS > 1 ? rank : 0;
    const int tile_rows = (M + CLUSTER_ROWS * BM - 1) / (CLUSTER_ROWS * BM);
    const int tile_columns = (N + CLUSTER_COLUMNS * BN - 1) / (CLUSTER_COLUMNS * BN), tiles = tile_rows * tile_columns;

    ring_init<STAGES>(full, empty, CLUSTER * 4 * CONSUMERS);  // a lane of each warp of the consumers reports
    int2 at = tile_at<STRIP>(cluster_id, tile_rows, tile_columns);
    if (CLUSTER > 1) cluster_sync(); else __syncthreads();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        for (int tile = cluster_id; thread == 0 && tile < tiles; tile += clusters) {
            const int row = (at.y * CLUSTER_ROWS + rank_row) * BM, column = (at.x * CLUSTER_COLUMNS + rank_column) * BN;
            for (int step = 0; step < steps; ++step, position.next()) {
                char *const stage = ring + position.stage * STAGE_BYTES;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait in the first round
                barrier_arrive_expect(barrier, STAGE_BYTES);
                if (CLUSTER_COLUMNS > 1)
                    copy_box_to_both(stage + rank * (A_BYTES / 2), &map_A, row + rank * (BM / 2), step * BK, barrier);
                else
                    copy_box(stage, &map_A, row, step * BK, barrier);
                for (int i = 0; i < BANDS / CLUSTER_ROWS; ++i) {
                    const int band = rank_row * (BANDS / CLUSTER_ROWS) + i;
                    char *const target = stage + A_BYTES + band * BAND_BYTES;
                    if (CLUSTER_ROWS > 1)
                        copy_box_to_both(target, &map_B, step * BK, column + band * 64, barrier);
                    else
                        copy_box(target, &map_B, step * BK, column + band * 64, barrier);
                }
            }
            at = tile_at<STRIP>(tile + clusters, tile_rows, tile_columns);
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
    char *const own_pieces = pieces + warpgroup * BOXES * PIECE_BYTES;
    int box_index = 0;
    const int band = BANDS > 1 ? warpgroup : 0, first_row = BANDS > 1 ? 0 : warpgroup * ROWS;
    for (int tile = cluster_id; tile < tiles; tile += clusters) {
        float sums[ROWS / 2] = {};
        int previous = 0;  // the stage of the previous step
        for (int step = 0; step < steps; ++step, position.next()) {
            const char *const stage = ring + position.stage * STAGE_BYTES;
            const TileDescriptor a(stage + first_row * ROW_BYTES, GROUP_BYTES, 0);
            const TileDescriptor b(stage + A_BYTES + band * BAND_BYTES, GROUP_BYTES, BAND_BYTES);
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

        const int row = (at.y * CLUSTER_ROWS + rank_row) * BM + first_row;
        const int column = (at.x * CLUSTER_COLUMNS + rank_column) * BN + band * 64;
#pragma unroll
        for (int piece = 0; piece < ROWS / PIECE; ++piece, box_index = (box_index + 1) % BOXES) {
            char *const box = own_pieces + box_index * PIECE_BYTES;
            if (thread == 0) stores_wait<BOXES - 1>();  // the engine has read what was in the box
            warpgroup_sync(warpgroup);
#pragma unroll
            for (int j = 0; j < PIECE / 8; j += 2) {  // groups of 8 rows of C
                const int box_row = (j + lane / 16) * 8 + lane % 8, part = (warp * 2 + lane / 8 % 2) ^ box_row % 8;
                const float *const s = &sums[(piece * PIECE / 8 + j) * 4];
                store_matrices_transposed(box + box_row * ROW_BYTES + part * 16, rounded_pair<element>(s[0], s[1]),
                                          rounded_pair<element>(s[2], s[3]), rounded_pair<element>(s[4], s[5]),
                                          rounded_pair<element>(s[6], s[7]));
            }
            proxy_fence();
            warpgroup_sync(warpgroup);
            if (thread == 0) {
                store_box(&map_C, row + piece * PIECE, column, box);
                stores_commit();
            }
        }
        at = tile_at<STRIP>(tile + clusters, tile_rows, tile_columns);
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
    if (CLUSTER > 1) cluster_sync();
}

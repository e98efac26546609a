// Tiles of a height that fills whole waves: few multiprocessors are idle in the last one.
//
// sources:   NVIDIA: Matrix Multiplication Background User's Guide (wave quantization); CUTLASS (tiles for sm_90)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BM = 256 in 64, 96, 128, 144, 160, 192, 224, 256
// param:     BN = 128 in 64, 128
// param:     STAGES = 4 in 3, 4, 5, 6, 10
// param:     STORE_ROWS = 64 in 32, 48, 64, 96
// param:     CLUSTER = 2 in 1, 2
// param:     STRIP = 16 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 132
// args:      tensor_map(A, BM / CLUSTER, 64, 128), tensor_map(B, 64, 64, 128),
//            tensor_map(C, STORE_ROWS, 64, 128), M, N, K
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * ((BM + BN) * 64 * sizeof(element) + 16) + 4 * STORE_ROWS * 128
// requires:  N % 8 == 0, K % 8 == 0, BN == 64 or BN == 128, STORE_ROWS >= 16, STORE_ROWS % 16 == 0,
//            BM * BN % (128 * STORE_ROWS) == 0, BM * BN // 128 >= 32, BM * BN // 128 <= 256, STAGES >= 2, STRIP >= 1,
//            CLUSTER == 1 or CLUSTER == 2, BLOCKS % CLUSTER == 0,
//            STAGES * ((BM + BN) * 64 * sizeof(element) + 16) + 4 * STORE_ROWS * 128 <= 227 * 1024
// traffic:   (M * K * ceil(N / (CLUSTER * BN)) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// The tiles that are computed at the same time are a *wave*, a round of `tensor-stream-k`. At n = 1536 `persistent` has
// 72 tiles of 128 x 256 for 132 multiprocessors: a single wave, in which 60 of them have nothing to do.
// `tensor-stream-k` cuts tiles, and has to add up parts. With tiles of 144 x 128 there are 132: each multiprocessor has
// one, and none is cut. At n = 3072 there are 384 tiles of 192 x 128, which are three waves but for 12 tiles.
//
// wgmma multiplies 64 rows of its first factor by up to 256 columns of the second one, in steps of 8. So one side of a
// tile is a multiple of 64, and the other one is nearly free: here a multiple of 16. As in `register-operand` the
// kernel computes the transpose, C' = B' A', so that the free side is the height, along M. A's tile has k contiguous in
// its rows, and any number of rows fills shared memory without a gap. B's tile still lies in bands of 64 columns.
//
// A low tile is slower: each multiplication needs more bytes that are written to shared memory and read from it. With
// 256 rows shared memory is busy as long as the tensor cores are, with 64 rows 1.75 times as long. So the best height
// balances this against the waves that it fills. `best` computes it for every problem.
//
// As in `persistent` each warpgroup has two boxes for its results, here of STORE_ROWS rows. With CLUSTER=2 two blocks
// that compute neighbouring tiles load the same tile of A, and each loads half of it for both (see `cluster`). This
// pays with more than one wave. BN=64 is for matrices with few columns.
//
//     cudamm show --diff cluster full-waves --dtype float16

#include "hopper.cuh"

const int CONSUMERS = 2, BANDS = BN / 64;
const int ROWS = BM * BANDS / CONSUMERS;  // a consumer warpgroup has ROWS x 64 of the tile of C
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BANDS * BAND_BYTES, C_BOX_BYTES = STORE_ROWS * ROW_BYTES;

extern __shared__ __align__(1024) char ring[];

__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(128 * (CONSUMERS + 1), 1)
full_waves(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
           const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const boxes = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(boxes + CONSUMERS * 2 * C_BOX_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
    // A cluster computes neighbouring tiles: its tile has CLUSTER * BN columns.
    const int rank = blockIdx.x % CLUSTER, cluster_id = blockIdx.x / CLUSTER, clusters = BLOCKS / CLUSTER;
    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + CLUSTER * BN - 1) / (CLUSTER * BN);
    const int tiles = tile_rows * tile_columns;

    allow_next_kernel();
    ring_init<STAGES>(full, empty, CLUSTER * 4 * CONSUMERS);  // a lane of each warp of all blocks' consumers reports
    // The place of the first tile takes two divisions, which pass while the barriers are made ready.
    int2 at = tile_at<STRIP>(min(cluster_id, tiles - 1), tile_rows, tile_columns);
    if (CLUSTER > 1) cluster_sync();
    else __syncthreads();
    wait_for_previous_kernel();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        for (int tile = cluster_id; thread == 0 && tile < tiles; tile += clusters) {
            const int row = at.y * BM, column = (at.x * CLUSTER + rank) * BN;
            for (int step = 0; step < steps; ++step, position.next()) {
                char *const stage = ring + position.stage * STAGE_BYTES;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
                barrier_arrive_expect(barrier, STAGE_BYTES);
                if (CLUSTER > 1)
                    copy_box_to_both(stage + rank * (A_BYTES / 2), &map_A, row + rank * (BM / 2), step * BK, barrier);
                else copy_box(stage, &map_A, row, step * BK, barrier);
                for (int band = 0; band < BANDS; ++band)
                    copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, step * BK, column + band * 64, barrier);
            }
            if (tile + clusters < tiles) at = tile_at<STRIP>(tile + clusters, tile_rows, tile_columns);
        }
        if (CLUSTER > 1) cluster_sync();
        return;
    }

    // The consumers.
    registers_increase<232>();
    const auto report_empty = [&](int stage) {
        if (CLUSTER == 1 && lane == 0) barrier_arrive(&empty[stage]);
        if (CLUSTER > 1 && lane < CLUSTER) barrier_arrive_at(&empty[stage], lane);  // a lane for each block
    };
    const int band = warpgroup % BANDS, first_row = warpgroup / BANDS * ROWS;  // of this warpgroup, in the tile
    char *const own_boxes = boxes + warpgroup * 2 * C_BOX_BYTES;
    int next_box = 0;
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

        // Store the results, STORE_ROWS rows at a time.
        const int row = at.y * BM + first_row, column = (at.x * CLUSTER + rank) * BN + band * 64;
#pragma unroll
        for (int first = 0; first < ROWS; first += STORE_ROWS, next_box ^= 1) {
            char *const box = own_boxes + next_box * C_BOX_BYTES;
            if (thread == 0) stores_wait<1>();  // the engine has read what was in the box
            warpgroup_sync(warpgroup);
#pragma unroll
            for (int j = 0; j < STORE_ROWS / 8; j += 2) {  // groups of 8 rows of C
                const int box_row = (j + lane / 16) * 8 + lane % 8, piece = (warp * 2 + lane / 8 % 2) ^ box_row % 8;
                const float *const s = &sums[(first / 8 + j) * 4];
                store_matrices_transposed(box + box_row * ROW_BYTES + piece * 16, rounded_pair<element>(s[0], s[1]),
                                          rounded_pair<element>(s[2], s[3]), rounded_pair<element>(s[4], s[5]),
                                          rounded_pair<element>(s[6], s[7]));
            }
            proxy_fence();
            warpgroup_sync(warpgroup);
            if (thread == 0) {
                store_box(&map_C, row + first, column, box);
                stores_commit();
            }
        }
        if (tile + clusters < tiles) at = tile_at<STRIP>(tile + clusters, tile_rows, tile_columns);
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
    if (CLUSTER > 1) cluster_sync();
}

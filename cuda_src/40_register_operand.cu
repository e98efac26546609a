// One factor comes from registers, so it may lie in memory in any order: tf32 at the full rate of wgmma.
//
// sources:   PTX ISA (wgmma with A in registers; matrices of 32-bit elements have k contiguous)
// needs:     sm_90a
// types:     tf32
// ceiling:   8
// param:     BM = 256 in 64, 128, 192, 256
// param:     STAGES = 4 in 3, 4, 5, 6
// param:     STRIP = 16 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 132
// args:      tensor_map(A, BM, 32, 128), tensor_map(B, 32, 32, 128), tensor_map(C, 32, 32, 128), M, N, K
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * ((BM + 128) * 32 * 4 + 16) + 32 * 1024
// requires:  N % 4 == 0, K % 4 == 0, BM % 64 == 0, STAGES >= 2, STRIP >= 1,
//            STAGES * ((BM + 128) * 32 * 4 + 16) + 32 * 1024 <= 227 * 1024
// traffic:   (M * K * ceil(N / 128) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// The scheme is that of `persistent`. But wgmma reads 32-bit elements from shared memory only if k is contiguous, in
// both tiles. In a row of A it is. In a row of B neighbours differ in n.
//
// wgmma may take its first factor from registers instead, where nothing depends on the order in memory. So this kernel
// computes the transpose, C' = B' A': the first factor is B', and the threads read it from B's tile, each the elements
// that the instruction expects from it. The second one is A', with k contiguous as before. Nothing is transposed in
// memory, and a block's tile of C has 128 columns and BM rows.
//
// The instruction expects element (lane / 4, lane % 4) of an 8 x 4 matrix from a lane. Read as it lies, such a matrix
// of B' is in B's tile 4 rows of k with 8 neighbours of n, 32 bytes each. Rows of B's tile are swizzled like those of
// all tiles: the 32 bytes of rows 0 and 1 lie in the same banks, and so do those of rows 2 and 3. Therefore a warp
// takes two pieces of 16 bytes that are 4 pieces apart: 8 columns of C that are not neighbours. Swizzling moves these
// to different places in each of rows 0 to 3, and no bank is read twice. The results go back to their columns on the
// way to shared memory.
//
// Registers must not be overwritten before the multiplications that read them have ended. So a warpgroup waits for the
// end, then reads the elements of the next step. Meanwhile the tensor cores have the multiplications of the other one.
//
//     cudamm show --diff dependent-launch register-operand --dtype tf32

#include "hopper.cuh"

const int CONSUMERS = 2, BN = CONSUMERS * 64;   // a consumer warpgroup has 64 columns of the tile of C
const int DEPTH = ROW_BYTES / sizeof(element);  // of a tile along k; also the columns of a band of B's tile
const int B_BAND_BYTES = DEPTH * ROW_BYTES;
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN / DEPTH * B_BAND_BYTES;
const int C_BOX_BYTES = 32 * ROW_BYTES, C_PART_BYTES = 2 * C_BOX_BYTES;  // 32 rows of a consumer's columns: two boxes

extern __shared__ __align__(1024) char ring[];

__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
register_operand(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
                 const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const c_parts = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(c_parts + CONSUMERS * 2 * C_PART_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int steps = (K + DEPTH - 1) / DEPTH;  // along k, of each tile of C
    const int tile_rows = (M + BM - 1) / BM, tile_columns = (N + BN - 1) / BN, tiles = tile_rows * tile_columns;

    allow_next_kernel();
    ring_init<STAGES>(full, empty, 4 * CONSUMERS);  // a lane of each warp of the consumers reports
    __syncthreads();
    wait_for_previous_kernel();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        if (thread != 0) return;
        for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
            const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
            for (int step = 0; step < steps; ++step, position.next()) {
                char *const stage = ring + position.stage * STAGE_BYTES;
                Barrier *const barrier = &full[position.stage];
                barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
                barrier_arrive_expect(barrier, STAGE_BYTES);
                copy_box(stage, &map_A, at.y * BM, step * DEPTH, barrier);
                for (int band = 0; band < BN / DEPTH; ++band)
                    copy_box(stage + A_BYTES + band * B_BAND_BYTES, &map_B, step * DEPTH, at.x * BN + band * DEPTH,
                             barrier);
            }
        }
        return;
    }

    // The consumers. A warp has pieces `warp` and `warp + 4` of the rows of two bands. Of these a lane has one column
    // in each band, in this piece and at this element of it:
    registers_increase<232>();
    const int piece = warp + lane / 16 * 4, in_piece = lane / 4 % 4;
    const auto place_in_row = [&](int row) { return row * ROW_BYTES + (piece ^ row % 8) * 16 + in_piece * 4; };
    int turn = 0;  // which of its two parts of shared memory the warpgroup fills next
    for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
        const int2 at = tile_at<STRIP>(tile, tile_rows, tile_columns);
        float sums[BM / 2] = {};
        for (int step = 0; step < steps; ++step, position.next()) {
            const char *const stage = ring + position.stage * STAGE_BYTES;
            const char *const bands = stage + A_BYTES + warpgroup * 2 * B_BAND_BYTES;
            const TileDescriptor a(stage, GROUP_BYTES, 0);
            unsigned b[DEPTH / 8][4];
            barrier_wait(&full[position.stage], position.parity);
#pragma unroll
            for (int k = 0; k < DEPTH; k += 4)
#pragma unroll
                for (int band = 0; band < 2; ++band)
                    b[k / 8][k / 4 % 2 * 2 + band] =
                        *(const unsigned *)(bands + band * B_BAND_BYTES + place_in_row(k + lane % 4));
            multiply_fence();
#pragma unroll
            for (int k = 0; k < DEPTH; k += 8) multiply_add(sums, b[k / 8], a + k * (int)sizeof(element));
            multiply_commit();
            multiply_wait<0>(sums);
            if (lane == 0) barrier_arrive(&empty[position.stage]);
        }

        // Store 32 rows of C at a time, by turns from two parts of shared memory.
#pragma unroll
        for (int row = 0; row < BM; row += 32) {
            char *const part = c_parts + (warpgroup * 2 + turn) * C_PART_BYTES;
            turn ^= 1;
            if (thread == 0) stores_wait<1>();  // the engine has read what lay in this part
            warpgroup_sync(warpgroup);
#pragma unroll
            for (int i = 0; i < 32 / 2; ++i) {  // for each 8 rows: two in a band, and the same two in the other band
                const int in_part = i / 4 * 8 + lane % 4 * 2 + i % 2;
                *(float *)(part + i / 2 % 2 * C_BOX_BYTES + place_in_row(in_part)) = sums[row / 2 + i];
            }
            proxy_fence();
            warpgroup_sync(warpgroup);
            if (thread == 0) {
                for (int band = 0; band < 2; ++band)
                    store_box(&map_C, at.y * BM + row, at.x * BN + warpgroup * 64 + band * 32,
                              part + band * C_BOX_BYTES);
                stores_commit();
            }
        }
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
}

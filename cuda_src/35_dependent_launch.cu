// The next launch begins while this one ends: its blocks are in place when the last results are complete.
//
// sources:   CUDA C++ Programming Guide (programmatic dependent launch); PTX ISA (griddepcontrol)
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
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / 128)) * sizeof(element),
//            M * N * sizeof(element)
//
// A stream runs its kernels one after the other. The blocks of the next kernel start only when all results of the
// previous one are in device memory. Then they make their barriers ready and load their first tiles. Until these
// arrive, nothing is multiplied. This matters if a launch takes only a few microseconds.
//
// With *programmatic dependent launch* a kernel may start before the previous one is complete. The header asks for it
// (`dependent-launch`); in CUDA C++ it is an attribute of the launch. Each block says at its beginning that the next
// kernel may start (`allow_next_kernel`). A multiprocessor has room for one block of this kernel. So a block of the
// next launch starts on a multiprocessor whose block has ended, while other blocks still multiply or store. It makes its
// barriers ready, and then waits until the previous kernel is complete and its results are visible
// (`wait_for_previous_kernel`).
//
// Until it has waited, a kernel may touch only what no other kernel uses: registers and shared memory. The previous
// kernel may still be writing A or B, or reading what lies in C. A single launch is not faster: only launches that
// follow one another overlap.
//
//     cudamm show --diff persistent dependent-launch --dtype float16

#include "hopper.cuh"

const int BM = 128, CONSUMERS = BM / 64;  // consumer warpgroups
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN / 64 * BAND_BYTES;

extern __shared__ __align__(1024) char ring[];

__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
dependent_launch(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
                 const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const boxes = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(boxes + CONSUMERS * STORE_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
    const int steps = (K + BK - 1) / BK;  // along k, of each tile of C
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
                copy_box(stage, &map_A, at.y * BM, step * BK, barrier);
                for (int band = 0; band < BN / 64; ++band)
                    copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, step * BK, at.x * BN + band * 64, barrier);
            }
        }
        return;
    }

    // The consumers.
    registers_increase<232>();
    char *const own_boxes = boxes + warpgroup * STORE_BYTES;
    int turn = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += BLOCKS) {
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
            if (step > 0 && lane == 0) barrier_arrive(&empty[previous]);
            previous = position.stage;
        }
        multiply_wait<0>(sums);
        if (lane == 0) barrier_arrive(&empty[previous]);

        store_boxes<element>(own_boxes, turn, &map_C, at.y * BM + warpgroup * 64, at.x * BN, warpgroup, sums);
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
}

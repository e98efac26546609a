// Roles for warps: one warpgroup only starts copies, two only multiply.
//
// sources:   CUTLASS (warp-specialized kernels for sm_90); PTX ISA (setmaxnreg)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BN = 256 in 64, 128, 192, 256
// param:     STAGES = 4 in 3, 4, 5, 6
// args:      tensor_map(A, 128, 64, 128), tensor_map(B, 64, 64, 128), M, N, K, C
// threads:   384
// grid:      ceil(N / BN), ceil(M / 128)
// shared-bytes: STAGES * ((128 + BN) * 64 * sizeof(element) + 16)
// requires:  N % 8 == 0, K % 8 == 0, BN % 64 == 0, BN >= 64, BN <= 256, STAGES >= 2,
//            STAGES * ((128 + BN) * 64 * sizeof(element) + 16) <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / 128)) * sizeof(element),
//            M * N * sizeof(element)
//
// In `wgmma` all threads meet after each tile, and the tensor cores are idle meanwhile. Here they never meet after the
// start. One warpgroup is the *producer*: a thread of it starts the copies. Two warpgroups are *consumers*: each
// computes 64 rows of the block's tile of C. Each stage of the ring has two barriers. At `full` the copy engine reports
// that the stage's tiles have arrived, and the consumers wait there before they multiply them. At `empty` the consumers
// report that they have multiplied the tiles, and the producer waits there before it starts copies into the stage.
//
// A consumer does not wait for the end of its multiplications either. It first starts those with the next tiles. Only
// then does it wait for the previous ones, and report their stage as empty. The tensor cores always have work.
//
// A tile of 128 x 256 needs fewer bytes per multiplication than one of 128 x 128, but 128 sums in each thread of the
// consumers. A multiprocessor has 65,536 registers, 168 for each of 384 threads. The producer needs few of them: the
// instruction setmaxnreg takes registers from it (40 remain) and gives them to the consumers (232).
//
//     cudamm show --diff wgmma warp-specialized --dtype float16

#include "hopper.cuh"

const int BM = 128, CONSUMERS = BM / 64;  // consumer warpgroups
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN / 64 * BAND_BYTES;

extern __shared__ __align__(1024) char ring[];

__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
warp_specialized(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
                 int M, int N, int K, element *C) {
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE_BYTES), *const empty = full + STAGES;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warpgroup = threadIdx.x / 128, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int tiles = (K + BK - 1) / BK;  // of A and of B, along k

    ring_init<STAGES>(full, empty, 4 * CONSUMERS);  // a lane of each warp of the consumers reports
    __syncthreads();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        if (threadIdx.x % 128 != 0) return;
        for (int tile = 0; tile < tiles; ++tile, position.next()) {
            char *const stage = ring + position.stage * STAGE_BYTES;
            Barrier *const barrier = &full[position.stage];
            barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
            barrier_arrive_expect(barrier, STAGE_BYTES);
            copy_box(stage, &map_A, row0, tile * BK, barrier);
            for (int band = 0; band < BN / 64; ++band)
                copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, tile * BK, col0 + band * 64, barrier);
        }
        return;
    }

    // The consumers.
    registers_increase<232>();
    float sums[BN / 2] = {};
    int previous = 0;  // the stage of the previous tile
    for (int tile = 0; tile < tiles; ++tile, position.next()) {
        const char *const stage = ring + position.stage * STAGE_BYTES;
        const TileDescriptor a(stage + warpgroup * 64 * ROW_BYTES, GROUP_BYTES, 0);
        const TileDescriptor b(stage + A_BYTES, GROUP_BYTES, BAND_BYTES);
        barrier_wait(&full[position.stage], position.parity);
        multiply_add_tiles<element>(sums, a, b);
        multiply_wait<1>(sums);  // those of the previous tile have ended
        if (tile > 0 && lane == 0) barrier_arrive(&empty[previous]);
        previous = position.stage;
    }
    multiply_wait<0>(sums);  // nobody waits for the last stage

    // Store the results. `multiply_add` in hopper.cuh describes which sums a thread holds.
    const int row = row0 + warp * 16 + lane / 4, col = col0 + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < BN / 8; ++j)
#pragma unroll
        for (int half = 0; half < 2; ++half)
            if (row + half * 8 < M && col + j * 8 < N)
                *(unsigned *)&C[(size_t)(row + half * 8) * N + col + j * 8] =
                    rounded_pair<element>(sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
}

// Factors of 8 bits at twice the rate; the tensor cores add them with few bits, so float sums take over often.
//
// sources:   PTX ISA (wgmma for e4m3); DeepSeek-V3 Technical Report, 3.3.2; DeepGEMM
// needs:     sm_90a
// types:     float8_e4m3
// ceiling:   32
// layout:    B=column
// param:     BN = 256 in 64, 128, 192, 256
// param:     STAGES = 3 in 3, 4, 5, 6
// param:     STRIP = 16 in 4, 8, 16, 32
// param:     BLOCKS = 132 in 66, 114, 132
// args:      tensor_map(A, 128, 128, 128), tensor_map(B, BN, 128, 128), tensor_map(C, 64, 64, 128), M, N, K
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * ((128 + BN) * 128 + 16) + 4 * 64 * 128
// requires:  N % 8 == 0, K % 16 == 0, BN % 64 == 0, BN >= 64, BN <= 256, STAGES >= 2, STRIP >= 1,
//            STAGES * ((128 + BN) * 128 + 16) + 4 * 64 * 128 <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / 128)) * sizeof(element),
//            M * N * sizeof(result)
//
// The scheme is that of `persistent`. A row of 128 bytes now has 128 elements, so a stage is 128 deep along k. An
// instruction multiplies 32 values of k, in the time of one for 16 values of k with 16-bit elements.
//
// For 8-bit elements the instruction has no transposed form: k has to be contiguous in both tiles. In a row of B
// neighbours differ in n. So the header asks for a B that is stored column by column (`layout`), as weights of networks
// often are. The tensor map describes it as its transpose, whose rows run along k: B's tile looks like A's, a row of
// 128 bytes for each of the BN columns of the product.
//
// The tensor cores add 8-bit products with few bits. They shift 32 products and the sum so far to the largest of their
// exponents, cut the bits that lie more than 13 places below the first bit of the largest, and keep 14 bits of the
// result. Over a long K the small products would be lost next to a large sum. So the tensor cores sum over one stage
// only, 128 products. The threads then add this sum, the `part`, to float sums in registers. The first instruction of
// the next part replaces the old one instead of adding to it, so nothing has to be set to zero.
//
// While a warpgroup adds, the tensor cores have the multiplications of the other one. For 128 columns these take 256
// cycles, and the additions 64. The sums and the part both take registers. So with BN = 256 a part has only half of the
// columns, and a stage has two parts.
//
//     cudamm show --diff dependent-launch float8

#include "hopper.cuh"

const int BM = 128, CONSUMERS = BM / 64;        // consumer warpgroups
const int DEPTH = ROW_BYTES / sizeof(element);  // of a tile along k
const int PART = BN <= 192 ? BN : BN / 2;       // columns that a warpgroup multiplies at a time
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN * ROW_BYTES;

extern __shared__ __align__(1024) char ring[];

__global__ void __launch_bounds__(128 * (CONSUMERS + 1), 1)
float8(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
       const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const boxes = ring + STAGES * STAGE_BYTES;
    Barrier *const full = (Barrier *)(boxes + CONSUMERS * STORE_BYTES), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
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
                copy_box(stage + A_BYTES, &map_B, at.x * BN, step * DEPTH, barrier);  // a row of the box: a column of B
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
        for (int step = 0; step < steps; ++step, position.next()) {
            const char *const stage = ring + position.stage * STAGE_BYTES;
            const TileDescriptor a(stage + warpgroup * 64 * ROW_BYTES, GROUP_BYTES, 0);
            const TileDescriptor b(stage + A_BYTES, GROUP_BYTES, 0);
            barrier_wait(&full[position.stage], position.parity);
#pragma unroll
            for (int column = 0; column < BN; column += PART) {
                float part[PART / 2];
                multiply_fence();
#pragma unroll
                for (int k = 0; k < ROW_BYTES; k += 32)  // the first product replaces what the part held
                    multiply_8_bit(part, a + k, b + (column * ROW_BYTES + k), k > 0);
                multiply_commit();
                multiply_wait<0>(part);
                if (column + PART == BN && lane == 0) barrier_arrive(&empty[position.stage]);
#pragma unroll
                for (int i = 0; i < PART / 2; ++i) sums[column / 2 + i] += part[i];
            }
        }
        store_boxes<__nv_bfloat16>(own_boxes, turn, &map_C, at.y * BM + warpgroup * 64, at.x * BN, warpgroup, sums);
    }
    if (thread == 0) stores_wait();  // the block's shared memory must outlive the copies
}

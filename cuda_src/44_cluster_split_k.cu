// Two blocks compute a tile together: each takes half of K, and they exchange sums through their shared memory.
//
// sources:   CUDA C++ Programming Guide (distributed shared memory); CUTLASS (split-K)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BM = 128 in 64, 128, 192, 256
// param:     STAGES = 4 in 3, 4, 5, 6
// args:      tensor_map(A, BM, 64, 128), tensor_map(B, 64, 64, 128), tensor_map(C, BM, 64, 128), M, N, K
// threads:   384
// grid:      2 * ceil(N / 128), ceil(M / BM)
// shared-bytes: STAGES * ((BM + 128) * 64 * sizeof(element) + 16) + BM * 64 * (4 + sizeof(element))
// requires:  N % 8 == 0, K % 8 == 0, BM % 16 == 0, STAGES >= 2,
//            STAGES * ((BM + 128) * 64 * sizeof(element) + 16) + BM * 64 * (4 + sizeof(element)) <= 227 * 1024

#include "hopper.cuh"

const int CONSUMERS = 2, BN = CONSUMERS * 64;  // a consumer warpgroup has 64 columns of the tile of C
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + CONSUMERS * BAND_BYTES;
const int SUMS = BM / 2;  // of a thread

extern __shared__ __align__(1024) char ring[];

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128 * (CONSUMERS + 1), 1)
cluster_split_k(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
                const __grid_constant__ CUtensorMap map_C, int M, int N, int K) {
    char *const box = ring + STAGES * STAGE_BYTES;
    float4 (*const others)[128] = (float4 (*)[128])(box + A_BYTES);  // sums of the other block, four of each thread
    Barrier *const full = (Barrier *)(others + SUMS / 4), *const empty = full + STAGES;
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
    const int half = blockIdx.x % 2, row = blockIdx.y * BM, column = blockIdx.x / 2 * BN;
    const int all_steps = (K + BK - 1) / BK, middle = all_steps / 2;
    const int first_step = half ? middle : 0, steps = half ? all_steps - middle : middle;

    ring_init<STAGES>(full, empty, 4 * CONSUMERS);  // a lane of each warp of the consumers reports
    __syncthreads();

    RingPosition<STAGES> position;
    if (warpgroup == CONSUMERS) {  // the producer
        registers_decrease<40>();
        for (int step = 0; thread == 0 && step < steps; ++step, position.next()) {
            char *const stage = ring + position.stage * STAGE_BYTES;
            Barrier *const barrier = &full[position.stage];
            barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait in the first round
            barrier_arrive_expect(barrier, STAGE_BYTES);
            copy_box(stage, &map_A, row, (first_step + step) * BK, barrier);
            for (int band = 0; band < CONSUMERS; ++band)
                copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, (first_step + step) * BK, column + band * 64,
                         barrier);
        }
        cluster_sync();
        return;
    }

    // The consumers.
    registers_increase<232>();
    float sums[SUMS] = {};
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
        if (step > 0 && lane == 0) barrier_arrive(&empty[previous]);
        previous = position.stage;
    }
    multiply_wait<0>(sums);

    // Block 0 completes the columns of warpgroup 0, and block 1 those of warpgroup 1.
    if (warpgroup != half) {
#pragma unroll
        for (int i = 0; i < SUMS / 4; ++i)
            store_at(&others[i][thread], warpgroup, float4{sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]});
    }
    cluster_sync();
    if (warpgroup != half) return;
#pragma unroll
    for (int i = 0; i < SUMS / 4; ++i) {
        const float4 other = others[i][thread];
        sums[4 * i] += other.x, sums[4 * i + 1] += other.y, sums[4 * i + 2] += other.z, sums[4 * i + 3] += other.w;
    }
#pragma unroll
    for (int j = 0; j < BM / 8; j += 2) {  // groups of 8 rows of C
        const int box_row = (j + lane / 16) * 8 + lane % 8, part = (warp * 2 + lane / 8 % 2) ^ box_row % 8;
        const float *const s = &sums[j * 4];
        store_matrices_transposed(box + box_row * ROW_BYTES + part * 16, rounded_pair<element>(s[0], s[1]),
                                  rounded_pair<element>(s[2], s[3]), rounded_pair<element>(s[4], s[5]),
                                  rounded_pair<element>(s[6], s[7]));
    }
    proxy_fence();
    warpgroup_sync(warpgroup);
    if (thread == 0) {
        store_box(&map_C, row, column + warpgroup * 64, box);
        stores_commit();
        stores_wait();  // the block's shared memory must outlive the copy
    }
}

// Hopper's tensor cores: a warpgroup multiplies tiles straight from shared memory, where the copy engine puts them.
//
// sources:   PTX ISA (wgmma.mma_async, matrix descriptors); CUTLASS (sm_90)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     BM = 128 in 64, 128, 256
// param:     BN = 128 in 64, 128, 192, 256
// param:     STAGES = 4 in 2, 3, 4
// args:      tensor_map(A, BM, 64, 128), tensor_map(B, 64, 64, 128), M, N, K, C
// threads:   2 * BM
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * ((BM + BN) * 64 * sizeof(element) + 8)
// requires:  N % 8 == 0, K % 8 == 0, BM % 64 == 0, BN % 64 == 0, BN >= 64, BN <= 256, STAGES >= 1,
//            (BN // 2 + 48) * BM * 2 <= 64 * 1024,
//            STAGES * ((BM + BN) * 64 * sizeof(element) + 8) <= 227 * 1024
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
//
// In `mma` each warp loads fragments into registers and multiplies matrices of 16 x 16 by 16 x 8. Each element goes
// from shared memory to registers and from there to the tensor cores, and several warps load the same ones. On a Hopper
// GPU that way reaches only part of the tensor cores' rate. The other way: four warps, a *warpgroup*, multiply a tile
// of 64 x 16 by one of 16 x BN with one instruction. The tensor cores read both tiles from shared memory themselves.
// Only the sums are in registers, BN / 2 per thread.
//
// The threads tell the tensor cores by a *descriptor* where a tile lies: a number of 64 bits that holds the tile's
// address, distances within the tile, and its swizzle. The copy engine of `tma` puts the tiles there and swizzles them,
// so no thread touches an element of A or B. It swizzles rows of at most 128 bytes, 64 elements. Therefore a tile of A
// has 64 values of k, and a tile of B consists of bands that are 64 columns wide.
//
// The multiplications run asynchronously. A warpgroup starts four of them, 16 values of k each, and waits for their
// end. Then all warpgroups meet, and one thread starts the copy of the tiles that are STAGES ahead into the free stage.
//
//     cudamm show --diff mma wgmma --dtype float16

#include "hopper.cuh"

const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BN / 64 * BAND_BYTES;

extern __shared__ __align__(1024) char ring[];

__global__ void __launch_bounds__(2 * BM)
wgmma(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
      int M, int N, int K, element *C) {
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE_BYTES);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warpgroup = threadIdx.x / 128, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int tiles = (K + BK - 1) / BK;  // of A and of B, along k

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) barrier_init(&full[i], 1);
        proxy_fence();
    }
    __syncthreads();

    // Load the first tiles: one box of A and a box for each band of B.
    const auto fetch = [&](int tile) {
        char *const stage = ring + tile % STAGES * STAGE_BYTES;
        Barrier *const barrier = &full[tile % STAGES];
        barrier_arrive_expect(barrier, STAGE_BYTES);
        copy_box(stage, &map_A, row0, tile * BK, barrier);
        for (int band = 0; band < BN / 64; ++band)
            copy_box(stage + A_BYTES + band * BAND_BYTES, &map_B, tile * BK, col0 + band * 64, barrier);
    };
    if (threadIdx.x == 0)
        for (int tile = 0; tile < STAGES && tile < tiles; ++tile) fetch(tile);
    __syncwarp();  // the warp multiplies together

    // Compute, and load the next tiles.
    float sums[BN / 2] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        const char *const stage = ring + tile % STAGES * STAGE_BYTES;
        const TileDescriptor a(stage + warpgroup * 64 * ROW_BYTES, GROUP_BYTES, 0);
        const TileDescriptor b(stage + A_BYTES, GROUP_BYTES, BAND_BYTES);
        barrier_wait(&full[tile % STAGES], tile / STAGES % 2);
        multiply_fence();
#pragma unroll
        for (int k = 0; k < BK; k += 16)  // 16 elements further along A's rows, 16 rows further down in B's bands
            multiply_add<element>(sums, a + k * (int)sizeof(element), b + k * ROW_BYTES);
        multiply_commit();
        multiply_wait<0>(sums);
        __syncthreads();  // all warpgroups have multiplied: other tiles may overwrite these
        if (threadIdx.x == 0 && tile + STAGES < tiles) fetch(tile + STAGES);
        __syncwarp();
    }

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

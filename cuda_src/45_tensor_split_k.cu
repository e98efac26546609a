// A long sum is cut into many parts, and clusters of blocks add them up in their shared memory.
//
// sources:   CUDA C++ Programming Guide (distributed shared memory; memory fence functions); CUTLASS (split-K);
//            PTX ISA (mapa, ld.shared::cluster, barrier.cluster)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     CLUSTERS = 16 in 1, 2, 4, 8, 16
// param:     STAGES = 7 in 4, 6, 7, 8, 12
// args:      tensor_map(A, 64, 64, 128), tensor_map(B, 64, 64, 128), M, N, K, C
// threads:   160
// grid:      8 * CLUSTERS, ceil(N / 64), ceil(M / 64)
// shared-bytes: STAGES * (2 * 64 * 64 * sizeof(element) + 16)
// requires:  N % 8 == 0, K % 8 == 0, CLUSTERS >= 1, CLUSTERS <= 32, STAGES >= 2,
//            STAGES * (2 * 64 * 64 * sizeof(element) + 16) <= 227 * 1024,
//            CLUSTERS == 1 or ceil(M / 64) * ceil(N / 64) * CLUSTERS <= 256
// traffic:   (M * K * ceil(N / 64) + K * N * ceil(M / 64)) * sizeof(element)
//            + (CLUSTERS > 1) * ceil(M / 64) * ceil(N / 64) * CLUSTERS * 64 * 64 * 4,
//            M * N * sizeof(element) + (CLUSTERS > 1) * ceil(M / 64) * ceil(N / 64) * CLUSTERS * 64 * 64 * 4
//
// A product of 64 x 64 x 65536 has a single tile, and its sums are 65,536 long. `tensor-stream-k` cuts them into a part
// for each multiprocessor. Each part is written to device memory, a block that adds parts waits for them there and
// reads them one after the other, and its own sum waits for another block. Here most additions need no device memory.
//
// Eight blocks form a cluster (see `cluster`). Each multiplies its share of the steps along k. Then it writes its sums
// into its own shared memory, and all wait at a barrier of the cluster. Now each block adds up one eighth of the tile:
// it reads this eighth from the shared memory of all eight blocks. So all blocks add at the same time, and each reads
// 2 kB from every block.
//
// A cluster can have only 8 blocks on every GPU, but 128 blocks should load. So CLUSTERS clusters compute the tile, and
// only their sums go through device memory: one part for each cluster instead of one for each block. Nobody waits for a
// part. Warps that have written the same piece of the tile count themselves; the one that comes last knows that all
// parts are there. It reads them at the same time, and adds them in the order of the clusters. Therefore the result
// does not depend on who was last, and the blocks need not all run at the same time.
//
// A warp adds up only sums that were computed by the warps of its number, and a thread those of the threads of its
// number. So a thread's sums lie in shared memory as they lie in its registers: four make a piece of 16 bytes, and the
// pieces of neighbouring threads are neighbours. Neither writing nor reading them has bank conflicts.
//
// The ring is small enough for two blocks on a multiprocessor. Not every part of a GPU has a multiple of 8
// multiprocessors, so 16 clusters may not find 128 free ones.
//
//     cudamm show --diff tensor-stream-k tensor-split-k --dtype float16

#include "hopper.cuh"

const int BM = 64, BN = 64;
const int CLUSTER_BLOCKS = 8, SHARERS = CLUSTERS * CLUSTER_BLOCKS;  // blocks that share a tile
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BAND_BYTES;
const int CONSUMER_THREADS = 128, PRODUCER_WARP = CONSUMER_THREADS / 32;

extern __shared__ __align__(1024) char ring[];

// Parts of tiles, one for each cluster, in eighths; and for each piece of a tile that a warp adds up, the number of
// clusters that have written it. These numbers are 0 again at the end. Only one launch at a time may use both.
const int MOST_PARTS = CLUSTERS == 1 ? 1 : 256;
__device__ float4 parts[MOST_PARTS][CLUSTER_BLOCKS][CONSUMER_THREADS];
__device__ unsigned written[MOST_PARTS][CLUSTER_BLOCKS][CONSUMER_THREADS / 32];

__device__ __forceinline__ void add(float4 &sums, const float4 &part) {
    sums.x += part.x, sums.y += part.y, sums.z += part.z, sums.w += part.w;
}

// As atomicInc: adds 1, or returns to 0 after `last`, and returns the old number. What the thread's warp wrote before its
// last __syncwarp is visible to a warp whose thread sees the new number, after its next __syncwarp.
__device__ __forceinline__ unsigned count_written(unsigned *number, unsigned last) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(__cvta_generic_to_global(number)), "r"(last) : "memory");
    return before;
}

// Adds up the parts of all clusters, if this warp is the last one to have its part. Returns whether it is: then it has
// the tile's sums.
__device__ __forceinline__ bool complete(int tile, int cluster, int eighth, float4 &sums) {
    const int thread = threadIdx.x, lane = thread % 32;
    const int first = tile * CLUSTERS;  // the part of the tile's first cluster
    __stcg(&parts[first + cluster][eighth][thread], sums);
    __syncwarp();
    unsigned before = 0;  // number of clusters that have written this piece before
    if (lane == 0) before = count_written(&written[tile][eighth][thread / 32], CLUSTERS - 1);
    __syncwarp();
    if (__shfl_sync(~0u, before, 0) != CLUSTERS - 1) return false;

    float4 all[CLUSTERS];
#pragma unroll
    for (int i = 0; i < CLUSTERS; ++i) all[i] = __ldcg(&parts[first + i][eighth][thread]);
    sums = all[0];
#pragma unroll
    for (int i = 1; i < CLUSTERS; ++i) add(sums, all[i]);
    return true;
}

__global__ void __cluster_dims__(CLUSTER_BLOCKS, 1, 1) __launch_bounds__(CONSUMER_THREADS + 32, 1)
tensor_split_k(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
               int M, int N, int K, element *C) {
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE_BYTES), *const empty = full + STAGES;
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row0 = blockIdx.z * BM, col0 = blockIdx.y * BN;  // of the tile

    // The share of this block. Some have one step more than others; a short sum leaves some without any.
    const int steps = (K + BK - 1) / BK, share = steps / SHARERS, larger_shares = steps % SHARERS;
    const int sharer = blockIdx.x, rank = sharer % CLUSTER_BLOCKS, cluster = sharer / CLUSTER_BLOCKS;
    const int step_begin = sharer * share + min(sharer, larger_shares);
    const int step_end = step_begin + share + (sharer < larger_shares);

    ring_init<STAGES>(full, empty, CONSUMER_THREADS / 32);  // a lane of each warp of the consumers reports
    __syncthreads();

    RingPosition<STAGES> position;
    if (warp == PRODUCER_WARP) {
        for (int step = step_begin; lane == 0 && step < step_end; ++step, position.next()) {
            char *const stage = ring + position.stage * STAGE_BYTES;
            Barrier *const barrier = &full[position.stage];
            barrier_wait(&empty[position.stage], position.parity ^ 1);  // no wait the first time
            barrier_arrive_expect(barrier, STAGE_BYTES);
            copy_box(stage, &map_A, row0, step * BK, barrier);
            copy_box(stage + A_BYTES, &map_B, step * BK, col0, barrier);
        }
        cluster_sync();  // the two barriers of the consumers: all threads of the cluster count there
        cluster_sync();
        return;
    }

    // The consumers.
    float sums[BN / 2] = {};
    int previous = 0;  // the stage of the previous step
    for (int step = step_begin; step < step_end; ++step, position.next()) {
        const char *const stage = ring + position.stage * STAGE_BYTES;
        const TileDescriptor a(stage, GROUP_BYTES, 0), b(stage + A_BYTES, GROUP_BYTES, BAND_BYTES);
        barrier_wait(&full[position.stage], position.parity);
        multiply_add_tiles<element>(sums, a, b);
        multiply_wait<1>(sums);  // those of the previous step have ended
        if (step > step_begin && lane == 0) barrier_arrive(&empty[previous]);
        previous = position.stage;
    }
    multiply_wait<0>(sums);

    // Write the sums. All copies into the ring have arrived, and when all warps have multiplied, its memory is free.
    float4 *const own_sums = (float4 *)ring;  // a piece for each thread and each eighth
    warpgroup_sync(0);
#pragma unroll
    for (int eighth = 0; eighth < CLUSTER_BLOCKS; ++eighth) {
        const float *const s = &sums[eighth * 4];
        own_sums[eighth * CONSUMER_THREADS + thread] = float4{s[0], s[1], s[2], s[3]};
    }
    cluster_sync();

    // Add up an eighth. Each block begins with itself, so that they do not all read from the same one.
    float4 pieces[CLUSTER_BLOCKS];
#pragma unroll
    for (int i = 0; i < CLUSTER_BLOCKS; ++i)
        pieces[i] = load_at(&own_sums[rank * CONSUMER_THREADS + thread], (rank + i) % CLUSTER_BLOCKS);
    float4 eighth = pieces[0];
#pragma unroll
    for (int i = 1; i < CLUSTER_BLOCKS; ++i) add(eighth, pieces[i]);

    // Store the results. An eighth has 8 columns: `multiply_add` in hopper.cuh describes which sums a thread holds.
    if (CLUSTERS == 1 || complete(blockIdx.z * gridDim.y + blockIdx.y, cluster, rank, eighth)) {
        const int row = row0 + warp * 16 + lane / 4, col = col0 + rank * 8 + lane % 4 * 2;
        if (row < M && col < N) *(unsigned *)&C[(size_t)row * N + col] = rounded_pair<element>(eighth.x, eighth.y);
        if (row + 8 < M && col < N)
            *(unsigned *)&C[(size_t)(row + 8) * N + col] = rounded_pair<element>(eighth.z, eighth.w);
    }
    cluster_sync();  // the block's shared memory must outlive what others read from it
}

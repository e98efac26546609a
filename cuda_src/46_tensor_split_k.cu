// A long sum is cut into many parts, and clusters of blocks add them up in their shared memory.
//
// sources:   CUDA C++ Programming Guide (distributed shared memory; memory fence functions); CUTLASS (split-K);
//            PTX ISA (mapa, ld.shared::cluster, barrier.cluster)
// needs:     sm_90a
// types:     float16, bfloat16
// ceiling:   16
// param:     CLUSTERS = 8 in 1, 2, 4, 8, 16
// param:     STAGES = 7 in 4, 6, 7, 8, 12
// args:      tensor_map(A, 64, 64, 128), tensor_map(B, 64, 64, 128), M, N, K, C
// threads:   160
// grid:      8 * max(1, CLUSTERS // (ceil(M / 64) * ceil(N / 64))), ceil(N / 64), ceil(M / 64)
// shared-bytes: STAGES * (2 * 64 * 64 * sizeof(element) + 16)
// requires:  N % 8 == 0, K % 8 == 0, CLUSTERS >= 1, CLUSTERS <= 32, STAGES >= 2,
//            STAGES * (2 * 64 * 64 * sizeof(element) + 16) <= 227 * 1024
//
// A product of 64 x 64 x 65536 has a single tile, and each of its sums has 65,536 terms. `tensor-stream-k` cuts it into
// a part for each multiprocessor. The parts go through device memory: a block waits for those of its group, reads them
// one after the other, and passes their sum on to another block, which waits for it. Here most parts never leave the
// multiprocessors.
//
// Eight blocks form a cluster (see `cluster`), and each multiplies its share of the steps along k. Then it writes its
// sums into its own shared memory, and all blocks of the cluster meet at a barrier. Now each block adds up one eighth
// of the tile, which it reads from the shared memory of all eight. So all blocks add at the same time.
//
// Eight blocks is the largest cluster that every GPU with clusters allows. A single cluster would keep only 8
// multiprocessors busy. So up to CLUSTERS clusters share the tiles evenly. If several of them share a tile, each writes
// its sums to device memory as a part, and each warp writes one piece of it. Nobody waits for a part. A warp that has
// written its piece counts itself, and the one that comes last knows that the other clusters have written theirs. It
// reads them all at the same time, and adds them in the order of the clusters. So the result does not depend on who is
// last, and not all blocks have to run at the same time. If there are more tiles than CLUSTERS, each has one.
//
// A thread adds only sums that threads of the same number hold. So these lie in shared memory as in the registers: four
// are 16 bytes, and those of neighbouring threads are neighbours. There are no bank conflicts.
//
// With STAGES=7 two blocks fit on a multiprocessor. All blocks of a cluster run in the same part of the GPU (*GPC*). If
// the number of a GPC's multiprocessors is no multiple of 8, clusters with one block on each would leave some of them
// idle, and the last clusters would have to wait.
//
// Launches are ordinary. With dependent ones (see `dependent-launch`) a launch takes half as long again, presumably
// because blocks of waiting launches take places: two working blocks share a multiprocessor while others have none.
//
//     cudamm show --diff tensor-stream-k tensor-split-k --dtype float16

#include "hopper.cuh"

const int BM = 64, BN = 64;
const int CLUSTER_BLOCKS = 8, CONSUMER_THREADS = 128;
const int A_BYTES = BM * ROW_BYTES, STAGE_BYTES = A_BYTES + BAND_BYTES;

extern __shared__ __align__(1024) char ring[];

// The parts of all clusters, in eighths; and for each piece of a tile that a warp adds up, the number of clusters that
// have written theirs, which is 0 again at the end. Only one launch at a time may use them.
__device__ float4 parts[CLUSTERS][CLUSTER_BLOCKS][CONSUMER_THREADS];
__device__ unsigned written[CLUSTERS][CLUSTER_BLOCKS][CONSUMER_THREADS / 32];

__device__ __forceinline__ void add(float4 &sums, const float4 &part) {
    sums.x += part.x, sums.y += part.y, sums.z += part.z, sums.w += part.w;
}

// As atomicInc: adds 1, or returns to 0 after `last`, and returns the old number. What the warp has written before its
// last __syncwarp is visible to every warp in which a thread counts later, after its next __syncwarp.
__device__ __forceinline__ unsigned count_written(unsigned *number, unsigned last) {
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before) : "l"(__cvta_generic_to_global(number)), "r"(last) : "memory");
    return before;
}

// Writes this warp's piece of an eighth as a part. The last cluster's warp then adds up the pieces of all clusters.
// Returns whether this warp is that one: then it has the tile's sums.
__device__ __forceinline__ bool complete(int tile, int cluster, int clusters, int eighth, float4 &sums) {
    const int thread = threadIdx.x, first = tile * clusters;  // the tile's first part
    __stcg(&parts[first + cluster][eighth][thread], sums);
    __syncwarp();
    unsigned before = 0;  // number of clusters that have written this piece before
    if (thread % 32 == 0) before = count_written(&written[tile][eighth][thread / 32], clusters - 1);
    __syncwarp();
    if (__shfl_sync(~0u, before, 0) != clusters - 1) return false;

    float4 pieces[CLUSTERS];  // beyond `clusters` the last one again: a condition would make each load wait
#pragma unroll
    for (int i = 0; i < CLUSTERS; ++i) pieces[i] = __ldcg(&parts[first + min(i, clusters - 1)][eighth][thread]);
    sums = pieces[0];
#pragma unroll
    for (int i = 1; i < CLUSTERS; ++i)
        if (i < clusters) add(sums, pieces[i]);
    return true;
}

__global__ void __cluster_dims__(CLUSTER_BLOCKS, 1, 1) __launch_bounds__(CONSUMER_THREADS + 32, 1)
tensor_split_k(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
               int M, int N, int K, element *C) {
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE_BYTES), *const empty = full + STAGES;
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    const int row0 = blockIdx.z * BM, col0 = blockIdx.y * BN;  // of the tile
    const int rank = blockIdx.x % CLUSTER_BLOCKS, cluster = blockIdx.x / CLUSTER_BLOCKS;

    ring_init<STAGES>(full, empty, CONSUMER_THREADS / 32);  // a lane of each warp of the consumers reports
    // The block's share of the steps. The first blocks may have one more; if there are few, the last ones have none.
    const int sharers = gridDim.x, sharer = blockIdx.x;
    const int steps = (K + BK - 1) / BK, share = steps / sharers, larger_shares = steps % sharers;
    const int step_begin = sharer * share + min(sharer, larger_shares);
    const int step_end = step_begin + share + (sharer < larger_shares);
    __syncthreads();

    RingPosition<STAGES> position;
    if (thread >= CONSUMER_THREADS) {  // the producer
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
    const int tile = blockIdx.z * gridDim.y + blockIdx.y, clusters = sharers / CLUSTER_BLOCKS;
    if (clusters == 1 || complete(tile, cluster, clusters, rank, eighth)) {
        const int row = row0 + warp * 16 + lane / 4, col = col0 + rank * 8 + lane % 4 * 2;
        if (row < M && col < N) *(unsigned *)&C[(size_t)row * N + col] = rounded_pair<element>(eighth.x, eighth.y);
        if (row + 8 < M && col < N)
            *(unsigned *)&C[(size_t)(row + 8) * N + col] = rounded_pair<element>(eighth.z, eighth.w);
    }
    cluster_sync();  // the block's shared memory must outlive what others read from it
}

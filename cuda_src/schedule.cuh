// How blocks share the tiles of C if these do not fill all multiprocessors evenly.
//
// A tile takes a number of steps along k. The first tiles are cut: their steps form one long row, and each block gets
// an equal share of it, which begins and ends anywhere within a tile. The blocks take the tiles after them in turn and
// whole. Several blocks may have parts of the same tile; the one with the last part adds them up.
//
// A block walks through its share backwards. So it begins with the part that another block adds up, and ends with the
// part to which it adds those of others; if shares are long, they have been ready for long. Blocks wait only for blocks
// of lower numbers. In practice a GPU starts these earlier, so all blocks end even if not all run at the same time.

#pragma once
#include "hopper.cuh"

struct Schedule {
    int steps, tiles;                // number of steps of a tile, and number of tiles
    int cut_tiles, sharers;          // number of tiles that are cut, and of blocks that share them
    int share, larger_shares;        // number of steps of a share; the first `larger_shares` have one more
    int share_left, share_end;       // the steps that remain: their number, and the end of the last one
    int next_whole_tile;             // of this block
    int tile, step_begin, step_end;  // the block's work: these steps of this tile; there is none if tile == tiles

    // Tiles are cut if blocks would otherwise be idle for at least `min_idle` steps on average. A share has at least
    // `min_steps` steps: adding up takes time too.
    __device__ __forceinline__ Schedule(int tiles, int steps, int min_idle, int min_steps)
        : steps(steps), tiles(tiles) {
        const int blocks = gridDim.x, last_round = tiles % blocks;  // number of tiles in the incomplete round
        const int idle_steps = last_round == 0 ? 0 : (blocks - last_round) * steps;
        cut_tiles = idle_steps < min_idle * blocks ? 0 : tiles < blocks ? tiles : last_round + blocks;
        const int cut_steps = cut_tiles * steps;
        sharers = max(1, min(blocks, max(cut_tiles, cut_steps / min_steps)));
        share = cut_steps / sharers, larger_shares = cut_steps % sharers;
        share_end = share_begin(min(blockIdx.x + 1, sharers));
        share_left = share_end - share_begin(min(blockIdx.x, sharers));
        next_whole_tile = cut_tiles + blockIdx.x;
        next();
    }

    // Choose the block's next work.
    __device__ __forceinline__ void next() {
        if (share_left > 0) {
            tile = (share_end - 1) / steps, step_end = share_end - tile * steps;
            step_begin = max(0, step_end - share_left);
            share_left -= step_end - step_begin, share_end -= step_end - step_begin;
        } else {
            tile = min(next_whole_tile, tiles), step_begin = 0, step_end = steps;
            next_whole_tile += gridDim.x;
        }
    }
    __device__ __forceinline__ bool has_work() const { return tile < tiles; }

    // Return the first step of a block's share, and the block whose share has a step.
    __device__ __forceinline__ int share_begin(int block) const { return block * share + min(block, larger_shares); }
    __device__ __forceinline__ int block_of(int step) const {
        const int steps_in_larger = larger_shares * (share + 1);
        return step < steps_in_larger ? step / (share + 1) : larger_shares + (step - steps_in_larger) / share;
    }
};

// The sums of parts that other blocks add up: at most one for each block. A part is ready when all threads of the
// warpgroup have written their sums.
template <int BLOCK_COUNT, int WARPGROUPS, int COUNT>
struct Parts {
    float sums[BLOCK_COUNT * WARPGROUPS][COUNT][128];
    int ready[BLOCK_COUNT * WARPGROUPS];
};

// Writes the sums of this warpgroup as the block's part, for another block.
template <int BLOCK_COUNT, int WARPGROUPS, int COUNT>
__device__ __forceinline__ void publish(Parts<BLOCK_COUNT, WARPGROUPS, COUNT> &parts, const float (&sums)[COUNT]) {
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128, part = blockIdx.x * WARPGROUPS + warpgroup;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) __stcg(&parts.sums[part][i][thread], sums[i]);
    __threadfence();
    warpgroup_sync(warpgroup);
    if (thread == 0) atomicExch(&parts.ready[part], 1);
}

// Waits for the parts of blocks `first`, `first` + `stride`, and so on before `end`, and adds them to the sums of this
// warpgroup.
template <int BLOCK_COUNT, int WARPGROUPS, int COUNT>
__device__ __forceinline__ void add_parts(Parts<BLOCK_COUNT, WARPGROUPS, COUNT> &parts, int first, int end, int stride,
                                          float (&sums)[COUNT]) {
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
    for (int block = first + thread * stride; block < end; block += 128 * stride) {  // each thread waits for one
        int *const ready = &parts.ready[block * WARPGROUPS + warpgroup];
        while (atomicAdd(ready, 0) == 0) {}
        *ready = 0;  // for the next launch
        __threadfence();
    }
    warpgroup_sync(warpgroup);
    const int BATCH = 32;  // number of sums that a thread reads at a time
#pragma unroll 2
    for (int block = first; block < end; block += stride)
#pragma unroll
        for (int i0 = 0; i0 < COUNT; i0 += BATCH) {
            float batch[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; ++i)
                batch[i] = __ldcg(&parts.sums[block * WARPGROUPS + warpgroup][i0 + i][thread]);
#pragma unroll
            for (int i = 0; i < BATCH; ++i) sums[i0 + i] += batch[i];
        }
}

// Completes the sums of this warpgroup for a tile that may be cut. Returns whether they are the tile's now: so for the
// block that has the tile's last part. Only one launch at a time may use `parts`.
//
// The blocks that share the tile form groups of neighbours. The last block of a group adds up the group's parts, and
// the tile's last block adds up the sums of the groups. With 128 parts there are 11 groups, ten of 12 parts and one of
// 8: their sums are added up at the same time, and then one block adds up 11. The order is always the same, and so is
// the result.
template <int BLOCK_COUNT, int WARPGROUPS, int COUNT>
__device__ __forceinline__ bool complete(Parts<BLOCK_COUNT, WARPGROUPS, COUNT> &parts, const Schedule &work,
                                         float (&sums)[COUNT]) {
    if (work.step_begin == 0 && work.step_end == work.steps) return true;
    const int block = blockIdx.x, first = work.block_of(work.tile * work.steps);
    const int last = work.block_of((work.tile + 1) * work.steps - 1), sharers = last - first + 1;
    const int group_size = sharers <= 4 ? sharers : (int)ceilf(sqrtf(sharers));
    const int group = first + (block - first) / group_size * group_size;  // its first block
    if (block == last || block == group + group_size - 1) {
        add_parts(parts, group, block, 1, sums);
        if (block == last) {
            add_parts(parts, first + group_size - 1, group, group_size, sums);
            return true;
        }
    }
    publish(parts, sums);
    return false;
}

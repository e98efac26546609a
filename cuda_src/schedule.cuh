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

    // Tiles are cut if blocks would otherwise be idle for `min_idle` steps on average. A share has at least `min_steps`
    // steps, and about `most_parts` blocks at most share a tile: adding up takes time too.
    __device__ __forceinline__ Schedule(int tiles, int steps, int min_idle, int min_steps, int most_parts)
        : steps(steps), tiles(tiles) {
        const int blocks = gridDim.x, last_round = tiles % blocks;  // number of tiles in the incomplete round
        const int idle_steps = last_round == 0 ? 0 : (blocks - last_round) * steps;
        cut_tiles = idle_steps < min_idle * blocks ? 0 : tiles < blocks ? tiles : last_round + blocks;
        const int cut_steps = cut_tiles * steps;
        sharers = max(1, min(blocks, min(cut_tiles * most_parts, max(cut_tiles, cut_steps / min_steps))));
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

// Completes the sums of this warpgroup for a tile that may be cut: writes them for the block that has the tile's last
// part, or adds to them those of the other blocks, in the order of k. Returns whether `sums` are the tile's now. Only
// one launch at a time may use `parts`.
template <int BLOCK_COUNT, int WARPGROUPS, int COUNT>
__device__ __forceinline__ bool complete(Parts<BLOCK_COUNT, WARPGROUPS, COUNT> &parts, const Schedule &work,
                                         float (&sums)[COUNT]) {
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
    if (work.step_end < work.steps) {
        const int part = blockIdx.x * WARPGROUPS + warpgroup;
#pragma unroll
        for (int i = 0; i < COUNT; ++i) __stcg(&parts.sums[part][i][thread], sums[i]);
        __threadfence();
        warpgroup_sync(warpgroup);
        if (thread == 0) atomicExch(&parts.ready[part], 1);
        return false;
    }
    if (work.step_begin > 0)
        for (int block = work.block_of(work.tile * work.steps); block < blockIdx.x; ++block) {
            const int part = block * WARPGROUPS + warpgroup;
            if (thread == 0) {
                while (atomicAdd(&parts.ready[part], 0) == 0) {}
                parts.ready[part] = 0;  // for the next launch
                __threadfence();
            }
            warpgroup_sync(warpgroup);
            const int BATCH = 32;  // number of sums that a thread reads at a time
#pragma unroll
            for (int i0 = 0; i0 < COUNT; i0 += BATCH) {
                float batch[BATCH];
#pragma unroll
                for (int i = 0; i < BATCH; ++i) batch[i] = __ldcg(&parts.sums[part][i0 + i][thread]);
#pragma unroll
                for (int i = 0; i < BATCH; ++i) sums[i0 + i] += batch[i];
            }
        }
    return true;
}

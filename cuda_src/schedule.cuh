// How blocks share the tiles of C if these do not fill all multiprocessors evenly: the scheme of `stream-k`.
//
// A tile takes a number of steps along k. The first tiles are cut: their steps form one long row, and each block gets
// an equal share of it, which begins and ends anywhere within a tile. The blocks take the tiles after them in turn and
// whole. The blocks that have parts of the same tile add them up.

struct Schedule {
    int steps, tiles;                // number of steps of a tile, and number of tiles
    int cut_tiles, sharers;          // number of tiles that are cut, and of blocks that share them
    int share, larger_shares;        // number of steps of a share; the first `larger_shares` have one more
    int share_next, share_end;       // the steps that remain of this block's share
    int next_whole_tile;             // of this block
    int tile, step_begin, step_end;  // the block's work: these steps of this tile; there is none if tile == tiles

    // Tiles are cut if blocks would otherwise be idle for `min_idle` steps on average; a share has at least `min_steps`.
    __device__ __forceinline__ Schedule(int tiles, int steps, int blocks, int min_idle, int min_steps)
        : steps(steps), tiles(tiles) {
        const int last_round = tiles % blocks;  // number of tiles in the incomplete round
        const int idle_steps = last_round == 0 ? 0 : (blocks - last_round) * steps;
        cut_tiles = idle_steps < min_idle * blocks ? 0 : tiles < blocks ? tiles : last_round + blocks;
        const int cut_steps = cut_tiles * steps;
        sharers = cut_tiles == 0 ? 1 : tiles < blocks ? min(blocks, max(tiles, cut_steps / min_steps)) : blocks;
        share = cut_steps / sharers, larger_shares = cut_steps % sharers;
        share_next = blockIdx.x < sharers ? share_begin(blockIdx.x) : cut_steps;
        share_end = blockIdx.x < sharers ? share_begin(blockIdx.x + 1) : cut_steps;
        next_whole_tile = cut_tiles + blockIdx.x;
        next();
    }

    // Choose the block's next work.
    __device__ __forceinline__ void next() {
        if (share_next < share_end) {
            tile = share_next / steps, step_begin = share_next % steps;
            step_end = min(steps, step_begin + share_end - share_next);
            share_next += step_end - step_begin;
        } else {
            tile = min(next_whole_tile, tiles), step_begin = 0, step_end = steps;
            next_whole_tile += gridDim.x;
        }
    }
    __device__ __forceinline__ bool has_work() const { return tile < tiles; }
    __device__ __forceinline__ bool is_cut() const { return step_end - step_begin < steps; }

    // Return the first step of a block's share, and the block whose share has a step.
    __device__ __forceinline__ int share_begin(int block) const { return block * share + min(block, larger_shares); }
    __device__ __forceinline__ int block_of(int step) const {
        const int steps_in_larger = larger_shares * (share + 1);
        return step < steps_in_larger ? step / (share + 1) : larger_shares + (step - steps_in_larger) / share;
    }
};

// A block has a part of at most two cut tiles. `sums` holds the sums of all its threads for each part. `arrived` counts,
// on each level of adding up, the warpgroups that have written theirs.
template <int BLOCK_COUNT, int WARPGROUPS, int COUNT>
struct Parts {
    float sums[2 * BLOCK_COUNT * WARPGROUPS][COUNT][128];
    int arrived[4][2 * BLOCK_COUNT * WARPGROUPS];
};

// Writes the sums of this warpgroup as a part of its tile. Returns whether it is the one that adds up all parts; `sums`
// are then those of the tile.
//
// On each level, GROUP neighbouring parts are added up by the warpgroup that arrives last, and their sum takes the
// place of the first of them, the leader's part. The next level adds up these sums in the same way. So the order of
// additions does not depend on which warpgroup adds. `arrived_before` is in shared memory, one for each warpgroup.
template <int BLOCK_COUNT, int WARPGROUPS, int COUNT>
__device__ __forceinline__ bool add_parts(Parts<BLOCK_COUNT, WARPGROUPS, COUNT> &parts, const Schedule &work,
                                          int *arrived_before, float (&sums)[COUNT]) {
    const int GROUP = 8, BATCH = 32;  // number of parts on a level, and of sums that a thread reads at a time
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
    const int first_block = work.block_of(work.tile * work.steps);
    const int last_block = work.block_of((work.tile + 1) * work.steps - 1);
    const auto part_of = [&](int block) {  // a block's first part is of the tile in which its share begins
        return (2 * block + (work.share_begin(block) / work.steps == work.tile ? 0 : 1)) * WARPGROUPS + warpgroup;
    };
    const auto sync = [&] { asm volatile("bar.sync %0, 128;" : : "r"(1 + warpgroup) : "memory"); };
    int block = blockIdx.x, level = 0;  // `sums` are those of `stride` parts, beginning with that of `block`
    for (int stride = 1; first_block + stride <= last_block; stride *= GROUP, ++level) {
        const int reach = stride * GROUP, leader = first_block + (block - first_block) / reach * reach;
        const int members = min(GROUP, (last_block - leader) / stride + 1);
        float (*const own)[128] = parts.sums[part_of(block)];
#pragma unroll
        for (int i = 0; i < COUNT; ++i) own[i][thread] = sums[i];
        __threadfence();
        sync();  // all threads have written their sums before the warpgroup is counted
        if (thread == 0) arrived_before[warpgroup] = atomicAdd(&parts.arrived[level][part_of(leader)], 1);
        sync();
        if (arrived_before[warpgroup] != members - 1) return false;
        __threadfence();
        if (thread == 0) parts.arrived[level][part_of(leader)] = 0;  // for the next launch
#pragma unroll
        for (int i = 0; i < COUNT; ++i) sums[i] = 0;
        for (int member = 0; member < members; ++member) {
            float (*const part)[128] = parts.sums[part_of(leader + member * stride)];
#pragma unroll
            for (int i0 = 0; i0 < COUNT; i0 += BATCH) {
                float batch[BATCH];
#pragma unroll
                for (int i = 0; i < BATCH; ++i) batch[i] = __ldcg(&part[i0 + i][thread]);
#pragma unroll
                for (int i = 0; i < BATCH; ++i) sums[i0 + i] += batch[i];
            }
        }
        block = leader;
    }
    return true;
}

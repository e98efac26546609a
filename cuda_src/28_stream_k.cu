// As many blocks as run at once share the work evenly: tiles are cut along k, and their parts are added up.
//
// sources:   Osama, Merrill, Cecka, Garland, Owens: Stream-K (PPoPP 2023); CUTLASS (split-K and stream-K)
// needs:     sm_80
// param:     BM = 256 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 8 in 8, 16
// param:     WM = 32 in 32, 64
// param:     WN = 128 in 32, 64, 128
// param:     TM = 8 in 4, 8
// param:     TN = 16 in 8, 16
// param:     STAGES = 4 in 3, 4, 5
// param:     BLOCKS = 132 in 132, 264, 528
// types:     float32
// threads:   BM / WM * (BN / WN) * 32
// grid:      BLOCKS
// shared-bytes: STAGES * (BM * (BK + 4) + BK * BN) * 4
// requires:  BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN, WM // TM % 2 == 0, WN // TN % 2 == 0,
//            BN <= BM // WM * (BN // WN) * 32, BM // WM * (BN // WN) <= 8,
//            BM * BK % (BM // WM * (BN // WN) * 128) == 0, BK * BN % (BM // WM * (BN // WN) * 128) == 0,
//            STAGES * (BM * (BK + 4) + BK * BN) * 4 <= 227 * 1024
// ptxas:     -O1
//
// A GPU runs a limited number of blocks at once, and so far one block computes a whole tile. With 132 multiprocessors,
// 288 tiles take three rounds, of which the last has only 24 tiles: most of the GPU waits. If C has fewer tiles than
// multiprocessors, however long K is, part of the GPU has nothing to do from the start.
//
// Here BLOCKS blocks run, as many as the GPU runs at once: set BLOCKS to the number of multiprocessors, or to twice
// that with tiles half as large. The blocks take whole tiles in turn, except the tiles of the last complete round and
// of the incomplete round after it. The steps along k of these tiles are put in a row, and the row is cut into BLOCKS
// equal shares, wherever the cuts fall. A tile that is cut has parts in two or more blocks. Each of these blocks writes
// its sums to memory and increments a counter. The last of them adds up all parts, always in the order of k: the result
// is reproducible, but rounded differently from one sum over all k. No block waits for another.
//
// The code has three parts, in the words of the literature: the *schedule* is which tiles and which share of K a block
// gets; the *tile* is the computation, with the loop of `async-copy`; the *fix-up* adds up the parts of a cut tile.
//
//     cudamm show --diff async-copy stream-k

#include <cuda_pipeline.h>

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)
// The threads of a warp form LANES_Y rows of LANES_X threads.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

// 16 bytes. Because of the alignment the compiler loads and stores a Vector by one instruction.
struct alignas(16) Vector {
    float v[4];
};

// In elements: distance between rows of A's tile, size of A's tile, size of a stage (both tiles).
const int A_PITCH = BK + 4, A_TILE = BM * A_PITCH, STAGE = A_TILE + BK * BN;

extern __shared__ Vector ring[];

// A block has a part of at most two cut tiles: `parts` holds the sums of all its threads for each. `arrived` counts, on
// each level of adding up, the blocks that have written their sums.
__device__ float parts[2 * BLOCKS][TM * TN][THREADS];
__device__ int arrived[4][2 * BLOCKS];

const int MIN_STEPS = 8;    // minimum number of steps for a block
const int GROUP_PARTS = 8;  // number of parts that one block adds up on a level
const int BATCH = TM * TN < 64 ? TM * TN : 64;  // number of sums of a part that a thread reads at a time

// How the block copies a tile of ROWS x COLUMNS elements, BYTES per copy: ROW_THREADS threads copy one row, all threads
// together copy ROW_STEP rows at a time, and each thread makes COUNT copies.
template <int ROWS, int COLUMNS, int BYTES>
struct CopyPlan {
    static const int ELEMENTS = BYTES / 4, ROW_THREADS = COLUMNS / ELEMENTS;
    static const int ROW_STEP = THREADS / ROW_THREADS, COUNT = ROWS / ROW_STEP;
};

// Schedule: how the steps along k of all tiles are shared. The first `cut_tiles` tiles are cut, and `sharers` blocks
// share their `cut_steps` steps: all blocks, or fewer if there are so few tiles that a share would have less than
// MIN_STEPS steps. The tiles after them stay whole, and the blocks take them in turn.
struct Schedule {
    int steps, first_depth;  // number of steps of a tile, and the depth of the first one, which may be smaller than BK
    int tile_columns, tiles;
    int cut_tiles, cut_steps;
    int sharers, share, larger_shares;  // steps of a share; the first `larger_shares` shares have one more

    __device__ __forceinline__ Schedule(int M, int N, int K) {
        steps = (K + BK - 1) / BK, first_depth = K - (steps - 1) * BK;
        tile_columns = (N + BN - 1) / BN, tiles = (M + BM - 1) / BM * tile_columns;
        const int last_round = tiles % BLOCKS;  // number of tiles in the incomplete round
        cut_tiles = last_round == 0 ? 0 : tiles < BLOCKS ? tiles : last_round + BLOCKS;
        cut_steps = cut_tiles * steps;
        sharers = tiles < BLOCKS ? min(BLOCKS, max(tiles, cut_steps / MIN_STEPS)) : BLOCKS;
        share = cut_steps / sharers, larger_shares = cut_steps % sharers;
    }

    // Return the first step of a block's share.
    __device__ __forceinline__ int share_begin(int block) const { return block * share + min(block, larger_shares); }

    // Return the block whose share has this step.
    __device__ __forceinline__ int block_of(int step) const {
        const int steps_in_larger = larger_shares * (share + 1);
        return step < steps_in_larger ? step / (share + 1) : larger_shares + (step - steps_in_larger) / share;
    }
};

// Schedule: choose the next work of this block, the steps from `step_begin` up to `step_end` of a tile. It is the next
// piece of the block's share, which goes up to `share_end`, or its next whole tile.
__device__ __forceinline__ void next_work(const Schedule &schedule, int &share_next, int share_end,
                                          int &next_whole_tile, int &tile, int &step_begin, int &step_end) {
    if (share_next < share_end) {
        tile = share_next / schedule.steps, step_begin = share_next % schedule.steps;
        step_end = min(schedule.steps, step_begin + share_end - share_next);
        share_next += step_end - step_begin;
    } else {
        tile = next_whole_tile, step_begin = 0, step_end = schedule.steps;
        next_whole_tile += BLOCKS;
    }
}

// Fix-up: write this block's sums as a part of a tile, read a part, and add a part.
__device__ __forceinline__ void store_part(float (*part)[THREADS], const float (&sum)[TM][TN]) {
#pragma unroll
    for (int e = 0; e < TM * TN; ++e) part[e][threadIdx.x] = sum[e / TN][e % TN];
}
__device__ __forceinline__ void load_part(float (*part)[THREADS], float (&sum)[TM][TN]) {
#pragma unroll
    for (int e = 0; e < TM * TN; ++e) sum[e / TN][e % TN] = __ldcg(&part[e][threadIdx.x]);
}
__device__ __forceinline__ void add_part(float (*part)[THREADS], float (&sum)[TM][TN]) {
#pragma unroll
    for (int e0 = 0; e0 < TM * TN; e0 += BATCH) {
        float batch[BATCH];
#pragma unroll
        for (int e = 0; e < BATCH; ++e) batch[e] = __ldcg(&part[e0 + e][threadIdx.x]);
#pragma unroll
        for (int e = 0; e < BATCH; ++e) sum[(e0 + e) / TN][(e0 + e) % TN] += batch[e];
    }
}

// Fix-up: add up the parts of a tile that was cut, of which the blocks `first_block` to `last_block` have one each;
// part_of(block) is the number of a block's part. Return true if `sum` has become the tile's sums.
//
// On each level, GROUP_PARTS neighbouring parts are added up by the block that arrives last, and their sum takes the
// place of the first of them, the leader's part. The next level adds up these sums in the same way. So the order of
// additions does not depend on which block adds.
template <typename PartOf>
__device__ __forceinline__ bool fix_up(int first_block, int last_block, const PartOf &part_of, float (&sum)[TM][TN]) {
    bool is_last = true;
    int block = blockIdx.x, level = 0;  // `sum` is the sum of `stride` parts, beginning with that of `block`
    for (int stride = 1; is_last && first_block + stride <= last_block; stride *= GROUP_PARTS, ++level) {
        const int reach = stride * GROUP_PARTS, leader = first_block + (block - first_block) / reach * reach;
        const int members = min(GROUP_PARTS, (last_block - leader) / stride + 1);
        store_part(parts[part_of(block)], sum);
        __threadfence();
        __syncthreads();  // all threads have written their sums before the block is counted
        int *const arrived_before = (int *)ring;
        if (threadIdx.x == 0) *arrived_before = atomicAdd(&arrived[level][part_of(leader)], 1);
        __syncthreads();
        is_last = *arrived_before == members - 1;
        __syncthreads();
        if (!is_last) break;
        __threadfence();
        if (threadIdx.x == 0) arrived[level][part_of(leader)] = 0;  // for the next launch
        load_part(parts[part_of(leader)], sum);
        for (int member = 1; member < members; ++member)
            add_part(parts[part_of(leader + member * stride)], sum);
        block = leader;
    }
    return is_last;
}

// Tile: store its results.
template <int BYTES>
__device__ __forceinline__ void store_tile(int M, int N, float *C, int row0, int col0, int thread_row, int thread_col,
                                           const float (&sum)[TM][TN]) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int r = row0 + thread_row + i * LANES_Y;
        if (r >= M) continue;
#pragma unroll
        for (int j = 0; j < TN / 4; ++j) {
            const int c = col0 + thread_col + j * LANES_X * 4;
            float *const target = &C[(size_t)r * N + c];
            Vector result;
            for (int w = 0; w < 4; ++w) result.v[w] = sum[i][j * 4 + w] + 0.0f;  // a copy: see `async-copy`
            if (BYTES == 16 && c < N) *(Vector *)target = result;
            else
                for (int w = 0; w < 4; ++w)
                    if (c + w < N) target[w] = result.v[w];
        }
    }
}

// BYTES is the size of a copy: 16 if every row of A and B begins at a multiple of 16 bytes, otherwise 4.
template <int BYTES>
__device__ __forceinline__ void product(int M, int N, int K, const float *A, const float *B, float *C) {
    typedef CopyPlan<BM, BK, BYTES> PlanA;
    typedef CopyPlan<BK, BN, BYTES> PlanB;
    const int ELEMENTS = BYTES / 4;  // per copy

    const Schedule schedule(M, N, K);
    // The steps that remain of this block's share, and its next whole tile.
    int share_next = blockIdx.x < schedule.sharers ? schedule.share_begin(blockIdx.x) : schedule.cut_steps;
    const int share_end = blockIdx.x < schedule.sharers ? schedule.share_begin(blockIdx.x + 1) : schedule.cut_steps;
    int next_whole_tile = schedule.cut_tiles + blockIdx.x;

    // The first element that this thread copies of each tile.
    const int a_k = threadIdx.x % PlanA::ROW_THREADS * ELEMENTS, a_row = threadIdx.x / PlanA::ROW_THREADS;
    const int b_col = threadIdx.x % PlanB::ROW_THREADS * ELEMENTS, b_k = threadIdx.x / PlanB::ROW_THREADS;
    float *const shared = (float *)ring;

    // Lanes 0 and 1 form a column of the warp, lanes 0 and 2 a row, and so on: in each read of either tile at least
    // two threads read the same 16 bytes.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, lane_x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // The thread's first row, and the first column of its first group of four; its next row lies LANES_Y rows further
    // down, its next group LANES_X groups further right.
    const int thread_row = warp / WARPS_X * WM + lane_y, thread_col = warp % WARPS_X * WN + lane_x * 4;

    // The last step of a tile reads ahead into the stage after it, which must hold numbers, although they are ignored.
    for (int i = threadIdx.x; i < STAGES * STAGE / 4; i += THREADS) ring[i] = Vector{};
    __syncthreads();

    while (share_next < share_end || next_whole_tile < schedule.tiles) {
        // Schedule.
        int tile, step_end, step_begin;
        next_work(schedule, share_next, share_end, next_whole_tile, tile, step_begin, step_end);
        const int row0 = tile / schedule.tile_columns * BM, col0 = tile % schedule.tile_columns * BN;

        // Tile: the loop of `async-copy` over the steps from `step_begin` up to `step_end`. Load the first tiles.
        const int k0 = step_begin == 0 ? 0 : schedule.first_depth + (step_begin - 1) * BK;
        float *a_target = shared + a_row * A_PITCH + a_k, *b_target = shared + A_TILE + b_k * BN + b_col;
        const float *a_source[PlanA::COUNT], *b_source[PlanB::COUNT];
#pragma unroll
        for (int i = 0; i < PlanA::COUNT; ++i)
            a_source[i] = A + (size_t)min(row0 + a_row + i * PlanA::ROW_STEP, M - 1) * K + k0 + a_k;
#pragma unroll
        for (int i = 0; i < PlanB::COUNT; ++i)
            b_source[i] = B + (size_t)(k0 + b_k + i * PlanB::ROW_STEP) * N + min(col0 + b_col, N - ELEMENTS);
        // Start copy number i of a tile, or store zeros if its elements do not exist; then move the source by `depth`.
        const auto copy_a = [&](int i, bool exists, int depth) {
            float *const target = a_target + i * PlanA::ROW_STEP * A_PITCH;
            if (exists) __pipeline_memcpy_async(target, a_source[i], BYTES);
            else for (int w = 0; w < ELEMENTS; ++w) target[w] = 0;
            a_source[i] += depth;
        };
        const auto copy_b = [&](int i, bool exists, int depth) {
            float *const target = b_target + i * PlanB::ROW_STEP * BN;
            if (exists) __pipeline_memcpy_async(target, b_source[i], BYTES);
            else for (int w = 0; w < ELEMENTS; ++w) target[w] = 0;
            b_source[i] += (size_t)depth * N;
        };
        {
            const int depth = step_begin == 0 ? schedule.first_depth : BK;
#pragma unroll
            for (int i = 0; i < PlanA::COUNT; ++i) copy_a(i, a_k < depth, depth);
#pragma unroll
            for (int i = 0; i < PlanB::COUNT; ++i) copy_b(i, b_k + i * PlanB::ROW_STEP < depth, depth);
            __pipeline_commit();
            a_target += STAGE, b_target += STAGE;
        }
        for (int stage = 1; stage < STAGES - 1; ++stage) {
            if (step_begin + stage < step_end) {
#pragma unroll
                for (int i = 0; i < PlanA::COUNT; ++i) copy_a(i, true, BK);
#pragma unroll
                for (int i = 0; i < PlanB::COUNT; ++i) copy_b(i, true, BK);
            }
            __pipeline_commit();  // a group of copies per step, even an empty one: the waits below count groups
            a_target += STAGE, b_target += STAGE;
        }

        // Fetch the first fragments.
        float sum[TM][TN] = {};
        Vector reg_a[TM], reg_b[2][TN / 4];  // A: four values of k of each row; B: this k and the next
        const Vector *a_tile = &ring[thread_row * A_PITCH / 4], *b_tile = &ring[(A_TILE + thread_col) / 4];
        const auto fetch_a = [&](int i, int k) { reg_a[i] = a_tile[(i * LANES_Y * A_PITCH + k) / 4]; };
        const auto fetch_b = [&](int k) {
            for (int j = 0; j < TN / 4; ++j) reg_b[k % 2][j] = b_tile[k * BN / 4 + j * LANES_X];
        };
        __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the first step are complete
        __syncthreads();                    // and those of all other threads
#pragma unroll
        for (int i = 0; i < TM; ++i) fetch_a(i, 0);
        fetch_b(0);

        // Load the next tiles, compute, and fetch the next fragments.
        int read_stage = 0, fill_stage = STAGES - 1;
        for (int step = step_begin; step < step_end; ++step) {
            const bool prefetch = step + STAGES - 1 < step_end;
#pragma unroll
            for (int dot_k = 0; dot_k < BK; ++dot_k) {
                if (dot_k == BK - 1) {  // the next reads are of the next step
                    __pipeline_commit();
                    __pipeline_wait_prior(STAGES - 2);
                    __syncthreads();
                    const int read_offset = read_stage == STAGES - 1 ? STAGE - STAGES * STAGE : STAGE;
                    const int fill_offset = fill_stage == STAGES - 1 ? STAGE - STAGES * STAGE : STAGE;
                    read_stage = read_stage == STAGES - 1 ? 0 : read_stage + 1;
                    fill_stage = fill_stage == STAGES - 1 ? 0 : fill_stage + 1;
                    a_tile += read_offset / 4, b_tile += read_offset / 4;
                    a_target += fill_offset, b_target += fill_offset;
                }
                fetch_b((dot_k + 1) % BK);
                if (prefetch && dot_k < BK - 1) {  // some copies at each k: all at once would wait for one another
#pragma unroll
                    for (int i = dot_k * PlanA::COUNT / (BK - 1); i < (dot_k + 1) * PlanA::COUNT / (BK - 1); ++i)
                        copy_a(i, true, BK);
#pragma unroll
                    for (int i = dot_k * PlanB::COUNT / (BK - 1); i < (dot_k + 1) * PlanB::COUNT / (BK - 1); ++i)
                        copy_b(i, true, BK);
                }
#pragma unroll
                for (int i = 0; i < TM; ++i) {
#pragma unroll
                    for (int n = 0; n < TN; ++n) {
                        const int j = i % 2 ? TN - 1 - n : n;  // forth in even rows, back in odd ones
                        sum[i][j] += reg_a[i].v[dot_k % 4] * reg_b[dot_k % 2][j / 4].v[j % 4];
                    }
                    if (dot_k % 4 == 3) fetch_a(i, (dot_k + 1) % BK);  // the four elements of this row are used up
                }
            }
        }

        // Fix-up, if the tile was cut.
        bool is_last = true;
        if (step_end - step_begin < schedule.steps) {
            const int first_block = schedule.block_of(tile * schedule.steps);
            const int last_block = schedule.block_of((tile + 1) * schedule.steps - 1);
            // A block's first part is of the tile in which its share begins.
            const auto part_of = [&](int block) {
                return 2 * block + (schedule.share_begin(block) / schedule.steps == tile ? 0 : 1);
            };
            is_last = fix_up(first_block, last_block, part_of, sum);
        }
        if (!is_last) continue;

        store_tile<BYTES>(M, N, C, row0, col0, thread_row, thread_col, sum);
        __pipeline_wait_prior(0);
        __syncthreads();  // before the ring is filled again
    }
}

__global__ void __launch_bounds__(THREADS)
stream_k(int M, int N, int K, const float *A, const float *B, float *C) {
    if (N % 4 == 0 && K % 4 == 0) product<16>(M, N, K, A, B, C);
    else product<4>(M, N, K, A, B, C);
}

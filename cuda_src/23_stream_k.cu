// As many blocks as run at once share the work evenly: the last tiles are cut along k, and the parts added up.
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
// A GPU runs so many blocks at once, and a tile is a block's work from beginning to end. With 132 multiprocessors, 288
// tiles take three rounds, of which the last has 24: two thirds of the GPU wait. And a few large tiles, or a long K,
// leave most of it idle from the start.
//
// Here BLOCKS blocks run, one for each place that the GPU has (set it to the number of multiprocessors, or twice that
// with tiles half as large). They take whole tiles in turn, but not the last: those of the last whole round and of
// what is left over are put in a row, their steps along k one behind the other, and cut into BLOCKS equal shares,
// wherever the cuts fall. A tile that was cut has parts in two or more blocks. Each writes its sums to memory and
// counts itself; the one that comes last adds them up, always in the order of k, so that the result is the same each
// time, though not rounded as one sum over all k would be. Nobody waits for anybody: whoever is not the last goes on.
//
// The loop is that of `async-copy`.

#include <cuda_pipeline.h>

#define WARPS_X (BN / WN)
#define THREADS (BM / WM * WARPS_X * 32)
// A warp's threads: LANES_Y rows of LANES_X.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

struct alignas(16) Wide {
    float at[4];
};

// Elements from row to row of A's tile; of A's tile; of both.
const int A_PITCH = BK + 4, A_TILE = BM * A_PITCH, STAGE = A_TILE + BK * BN;

extern __shared__ Wide ring[];

// A block has a part in two cut tiles at most. Of each the sums of all threads, and how many parts are there.
__device__ float parts[2 * BLOCKS][TM * TN][THREADS];
__device__ int arrived[4][2 * BLOCKS];

const int LEAST = 8;  // steps that are worth a block
const int GROUP = 8;  // parts that are added up at a time
const int BATCH = TM * TN < 64 ? TM * TN : 64;  // sums of a part that are read at a time

// How the block's threads copy ROWS x COLUMNS, BYTES at a time: ACROSS of them a row, COUNT copies each.
template <int ROWS, int COLUMNS, int BYTES>
struct Copies {
    static const int PER = BYTES / 4, ACROSS = COLUMNS / PER, STEP = THREADS / ACROSS, COUNT = ROWS / STEP;
};

// BYTES is 16 where rows of both matrices are multiples of 16 bytes, else 4.
template <int BYTES>
__device__ __forceinline__ void product(int M, int N, int K, const float *A, const float *B, float *C) {
    typedef Copies<BM, BK, BYTES> OfA;
    typedef Copies<BK, BN, BYTES> OfB;
    const int PER = BYTES / 4;
    const int steps = (K + BK - 1) / BK, first = K - (steps - 1) * BK;  // the first step's ks

    // Of the tiles, `shared_tiles` are cut. So many blocks share them: of few tiles only as many as get LEAST steps.
    const int across = (N + BN - 1) / BN, tiles = (M + BM - 1) / BM * across, rest = tiles % BLOCKS;
    const int shared_tiles = rest == 0 ? 0 : tiles < BLOCKS ? tiles : rest + BLOCKS, all = shared_tiles * steps;
    const int sharers = tiles < BLOCKS ? min(BLOCKS, max(tiles, all / LEAST)) : BLOCKS;
    const int share = all / sharers, larger = all % sharers;  // the first `larger` shares have a step more
    const auto share_begins = [&](int block) { return block * share + min(block, larger); };
    const auto block_of = [&](int step) {
        const int in_larger = larger * (share + 1);
        return step < in_larger ? step / (share + 1) : larger + (step - in_larger) / share;
    };
    int at = blockIdx.x < sharers ? share_begins(blockIdx.x) : all;
    const int end = blockIdx.x < sharers ? share_begins(blockIdx.x + 1) : all;
    int whole = shared_tiles + blockIdx.x;  // the next tile that is not cut

    // What this thread copies: from where, and where to.
    const int ak = threadIdx.x % OfA::ACROSS * PER, ar = threadIdx.x / OfA::ACROSS;
    const int bc = threadIdx.x % OfB::ACROSS * PER, bk = threadIdx.x / OfB::ACROSS;
    float *const shared = (float *)ring;
    // Threads 1 apart lie in one column of the warp, threads 2 apart in one row: reads of either tile pair up.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // Of the thread's first row, and first group of four columns; the next lie LANES further.
    const int row = warp / WARPS_X * WM + y, col = warp % WARPS_X * WN + x * 4;

    // The last step of a tile reads, in vain, of one behind it, which has to hold something.
    for (int i = threadIdx.x; i < STAGES * STAGE / 4; i += THREADS) ring[i] = Wide{};
    __syncthreads();

    while (at < end || whole < tiles) {
        // Next are steps `from` to `to` of a tile.
        int tile, from, to;
        if (at < end) {
            tile = at / steps, from = at % steps, to = min(steps, from + end - at);
            at += to - from;
        } else {
            tile = whole, from = 0, to = steps;
            whole += BLOCKS;
        }
        const int row0 = tile / across * BM, col0 = tile % across * BN;
        const int k0 = from == 0 ? 0 : first + (from - 1) * BK;
        float *a_to = shared + ar * A_PITCH + ak, *b_to = shared + A_TILE + bk * BN + bc;
        const float *a_from[OfA::COUNT], *b_from[OfB::COUNT];
#pragma unroll
        for (int i = 0; i < OfA::COUNT; ++i) a_from[i] = A + (size_t)min(row0 + ar + i * OfA::STEP, M - 1) * K + k0 + ak;
#pragma unroll
        for (int i = 0; i < OfB::COUNT; ++i) b_from[i] = B + (size_t)(k0 + bk + i * OfB::STEP) * N + min(col0 + bc, N - PER);
        // Copy number i of each tile, or zeros where there is nothing; then on by so many ks.
        const auto copy_a = [&](int i, bool inside, int ks) {
            float *const target = a_to + i * OfA::STEP * A_PITCH;
            if (inside) __pipeline_memcpy_async(target, a_from[i], BYTES);
            else for (int w = 0; w < PER; ++w) target[w] = 0;
            a_from[i] += ks;
        };
        const auto copy_b = [&](int i, bool inside, int ks) {
            float *const target = b_to + i * OfB::STEP * BN;
            if (inside) __pipeline_memcpy_async(target, b_from[i], BYTES);
            else for (int w = 0; w < PER; ++w) target[w] = 0;
            b_from[i] += (size_t)ks * N;
        };
        {
            const int ks = from == 0 ? first : BK;
#pragma unroll
            for (int i = 0; i < OfA::COUNT; ++i) copy_a(i, ak < ks, ks);
#pragma unroll
            for (int i = 0; i < OfB::COUNT; ++i) copy_b(i, bk + i * OfB::STEP < ks, ks);
            __pipeline_commit();
            a_to += STAGE, b_to += STAGE;
        }
        for (int stage = 1; stage < STAGES - 1; ++stage) {
            if (from + stage < to) {
#pragma unroll
                for (int i = 0; i < OfA::COUNT; ++i) copy_a(i, true, BK);
#pragma unroll
                for (int i = 0; i < OfB::COUNT; ++i) copy_b(i, true, BK);
            }
            __pipeline_commit();  // even if there is none, to keep count
            a_to += STAGE, b_to += STAGE;
        }
        float sum[TM][TN] = {};
        Wide a[TM], b[2][TN / 4];  // of A four ks of each row, of B this k and the next
        const Wide *a_at = &ring[row * A_PITCH / 4], *b_at = &ring[(A_TILE + col) / 4];
        const auto load_a = [&](int i, int k) { a[i] = a_at[(i * LANES_Y * A_PITCH + k) / 4]; };
        const auto load_b = [&](int k) {
            for (int j = 0; j < TN / 4; ++j) b[k % 2][j] = b_at[k * BN / 4 + j * LANES_X];
        };
        __pipeline_wait_prior(STAGES - 2);  // this thread's part of the first tile is there
        __syncthreads();                    // and everybody's
#pragma unroll
        for (int i = 0; i < TM; ++i) load_a(i, 0);
        load_b(0);

        int stage = 0, filling = STAGES - 1;
        for (int step = from; step < to; ++step) {
            const bool more = step + STAGES - 1 < to;
#pragma unroll
            for (int k = 0; k < BK; ++k) {
                if (k == BK - 1) {  // on to the next step
                    __pipeline_commit();
                    __pipeline_wait_prior(STAGES - 2);
                    __syncthreads();
                    const int on = stage == STAGES - 1 ? STAGE - STAGES * STAGE : STAGE;
                    const int further = filling == STAGES - 1 ? STAGE - STAGES * STAGE : STAGE;
                    stage = stage == STAGES - 1 ? 0 : stage + 1;
                    filling = filling == STAGES - 1 ? 0 : filling + 1;
                    a_at += on / 4, b_at += on / 4, a_to += further, b_to += further;
                }
                load_b((k + 1) % BK);
                if (more && k < BK - 1) {  // some of the copies at each k: all at once would wait for one another
#pragma unroll
                    for (int i = k * OfA::COUNT / (BK - 1); i < (k + 1) * OfA::COUNT / (BK - 1); ++i) copy_a(i, true, BK);
#pragma unroll
                    for (int i = k * OfB::COUNT / (BK - 1); i < (k + 1) * OfB::COUNT / (BK - 1); ++i) copy_b(i, true, BK);
                }
#pragma unroll
                for (int i = 0; i < TM; ++i) {
#pragma unroll
                    for (int n = 0; n < TN; ++n) {
                        const int j = i % 2 ? TN - 1 - n : n;
                        sum[i][j] += a[i].at[k % 4] * b[k % 2][j / 4].at[j % 4];
                    }
                    if (k % 4 == 3) load_a(i, (k + 1) % BK);  // this row's four ks are used up
                }
            }
        }

        // Blocks `head` to `tail` have parts in this tile. GROUP of them are added up by whichever comes last, in the
        // place of the first; then GROUP of those sums, and so on. Every sum has its place and its order, whoever adds.
        bool is_last = true;
        if (to - from < steps) {
            const int head = block_of(tile * steps), tail = block_of((tile + 1) * steps - 1);
            const auto place = [&](int block) { return 2 * block + (share_begins(block) / steps == tile ? 0 : 1); };
            int of = blockIdx.x, level = 0;  // `sum` is that of block `of` and of those up to `stride` further
            for (int stride = 1; is_last && head + stride <= tail; stride *= GROUP, ++level) {
                const int leader = head + (of - head) / (stride * GROUP) * (stride * GROUP);
                const int members = min(GROUP, (tail - leader) / stride + 1);
                float (*const mine)[THREADS] = parts[place(of)];
#pragma unroll
                for (int e = 0; e < TM * TN; ++e) mine[e][threadIdx.x] = sum[e / TN][e % TN];
                __threadfence();
                __syncthreads();  // all of the block's sums are there before it is counted
                int *const before = (int *)ring;
                if (threadIdx.x == 0) *before = atomicAdd(&arrived[level][place(leader)], 1);
                __syncthreads();
                is_last = *before == members - 1;
                __syncthreads();
                if (!is_last) break;
                __threadfence();
                if (threadIdx.x == 0) arrived[level][place(leader)] = 0;  // for the next launch
                float (*const head_part)[THREADS] = parts[place(leader)];
#pragma unroll
                for (int e = 0; e < TM * TN; ++e) sum[e / TN][e % TN] = __ldcg(&head_part[e][threadIdx.x]);
                for (int member = 1; member < members; ++member) {
                    float (*const part)[THREADS] = parts[place(leader + member * stride)];
#pragma unroll
                    for (int e0 = 0; e0 < TM * TN; e0 += BATCH) {
                        float more[BATCH];
#pragma unroll
                        for (int e = 0; e < BATCH; ++e) more[e] = __ldcg(&part[e0 + e][threadIdx.x]);
#pragma unroll
                        for (int e = 0; e < BATCH; ++e) sum[(e0 + e) / TN][(e0 + e) % TN] += more[e];
                    }
                }
                of = leader;
            }
        }
        if (!is_last) continue;

#pragma unroll
        for (int i = 0; i < TM; ++i) {
            const int r = row0 + row + i * LANES_Y;
            if (r >= M) continue;
#pragma unroll
            for (int j = 0; j < TN / 4; ++j) {
                const int c = col0 + col + j * LANES_X * 4;
                float *const target = &C[(size_t)r * N + c];
                Wide out;
                for (int w = 0; w < 4; ++w) out.at[w] = sum[i][j * 4 + w] + 0.0f;
                if (BYTES == 16 && c < N) *(Wide *)target = out;
                else
                    for (int w = 0; w < 4; ++w)
                        if (c + w < N) target[w] = out.at[w];
            }
        }
        __pipeline_wait_prior(0);
        __syncthreads();  // before the ring is filled again
    }
}

__global__ void __launch_bounds__(THREADS)
stream_k(int M, int N, int K, const float *A, const float *B, float *C) {
    if (N % 4 == 0 && K % 4 == 0) product<16>(M, N, K, A, B, C);
    else product<4>(M, N, K, A, B, C);
}

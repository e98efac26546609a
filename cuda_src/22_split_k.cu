// K is cut into SPLITS parts, a group of the block's warps for each; their sums are added in shared memory.
//
// sources:   CUTLASS (sliced-K: warps of a block that share its tile and divide k)
// needs:     sm_80
// param:     BM = 64 in 32, 64, 128
// param:     BN = 128 in 32, 64, 128
// param:     BK = 16 in 8, 16
// param:     WM = 32 in 32, 64
// param:     WN = 64 in 32, 64
// param:     TM = 8 in 4, 8
// param:     TN = 8 in 8, 16
// param:     SPLITS = 2 in 1, 2, 4
// param:     STAGES = 4 in 3, 4, 5
// types:     float32
// threads:   SPLITS * (BM / WM) * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * (SPLITS * BK + 4) + SPLITS * BK * BN) * 4
// requires:  BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN, WM // TM % 2 == 0, WN // TN % 2 == 0,
//            BN <= SPLITS * (BM // WM) * (BN // WN) * 32, SPLITS * (BM // WM) * (BN // WN) <= 16,
//            SPLITS * BK <= SPLITS * (BM // WM) * (BN // WN) * 32,
//            BM * BK % (BM // WM * (BN // WN) * 128) == 0, BK * BN % (BM // WM * (BN // WN) * 128) == 0,
//            (SPLITS - 1) * BM * BN <= STAGES * (BM * (SPLITS * BK + 4) + SPLITS * BK * BN),
//            STAGES * (BM * (SPLITS * BK + 4) + SPLITS * BK * BN) * 4 <= 227 * 1024
// traffic:   (ceil(M / BM) * BM * K * ceil(N / BN) + K * ceil(N / BN) * BN * ceil(M / BM)) * 4, M * N * 4
// ptxas:     -O1
//
// A matrix of 1024 x 1024 has 32 tiles of 128 x 256, and an H200 132 multiprocessors. With 128 tiles of 64 x 128 all
// are busy, but such a tile has 128 threads: one warp in each quarter of a multiprocessor, and nothing to do there
// while it waits. K can be divided too: of each tile's SPLITS * BK ks a group of warps takes BK, another group the
// next BK, and each adds up the products of the whole tile over its ks. At the end the groups' sums are added in
// shared memory, one group after the other, so the result is the same each time, though not that of one sum in the
// order of k. Twice the warps, at the price of one addition in shared memory.
//
// The loop is that of `async-copy`.

#include <cuda_pipeline.h>

#define WARPS_X (BN / WN)
#define GROUP (BM / WM * WARPS_X * 32)  // threads that share a part of k
#define THREADS (SPLITS * GROUP)
// A warp's threads: LANES_Y rows of LANES_X.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

struct alignas(16) Wide {
    float at[4];
};

// A tile's ks; elements from row to row of A's tile; of A's tile; of both.
const int KS = SPLITS * BK, A_PITCH = KS + 4, A_TILE = BM * A_PITCH, STAGE = A_TILE + KS * BN;

extern __shared__ Wide ring[];

// How the block's threads copy ROWS x COLUMNS, BYTES at a time: ACROSS of them a row, COUNT copies each.
template <int ROWS, int COLUMNS, int BYTES>
struct Copies {
    static const int PER = BYTES / 4, ACROSS = COLUMNS / PER, STEP = THREADS / ACROSS, COUNT = ROWS / STEP;
};

// BYTES is 16 where rows of both matrices are multiples of 16 bytes, else 4.
template <int BYTES>
__device__ __forceinline__ void product(int M, int N, int K, const float *A, const float *B, float *C) {
    typedef Copies<BM, KS, BYTES> OfA;
    typedef Copies<KS, BN, BYTES> OfB;
    const int PER = BYTES / 4;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tiles = (K + KS - 1) / KS, first = K - (tiles - 1) * KS;  // the first tile's ks

    // What this thread copies: from where, and where to.
    const int ak = threadIdx.x % OfA::ACROSS * PER, ar = threadIdx.x / OfA::ACROSS;
    const int bc = threadIdx.x % OfB::ACROSS * PER, bk = threadIdx.x / OfB::ACROSS;
    float *const shared = (float *)ring;
    float *a_to = shared + ar * A_PITCH + ak, *b_to = shared + A_TILE + bk * BN + bc;
    const float *a_from[OfA::COUNT], *b_from[OfB::COUNT];
#pragma unroll
    for (int i = 0; i < OfA::COUNT; ++i) a_from[i] = A + (size_t)min(row0 + ar + i * OfA::STEP, M - 1) * K + ak;
#pragma unroll
    for (int i = 0; i < OfB::COUNT; ++i) b_from[i] = B + (size_t)(bk + i * OfB::STEP) * N + min(col0 + bc, N - PER);
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
    // Zeros stand for tiles that are not there: the last step reads, in vain, of the one behind it.
    for (int tile = 0; tile < STAGES; ++tile) {
        const int ks = tile >= tiles ? 0 : tile == 0 ? first : KS;
        if (tile < STAGES - 1 || ks == 0) {
#pragma unroll
            for (int i = 0; i < OfA::COUNT; ++i) copy_a(i, ak < ks, ks);
#pragma unroll
            for (int i = 0; i < OfB::COUNT; ++i) copy_b(i, bk + i * OfB::STEP < ks, ks);
        }
        if (tile == STAGES - 1) break;
        __pipeline_commit();  // even if there is none, to keep count
        a_to += STAGE, b_to += STAGE;
    }

    // Threads 1 apart lie in one column of the warp, threads 2 apart in one row: reads of either tile pair up.
    const int group = threadIdx.x / GROUP, warp = threadIdx.x % GROUP / 32, lane = threadIdx.x % 32;
    const int y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // Of the thread's first row, and first group of four columns; the next lie LANES further.
    const int row = warp / WARPS_X * WM + y, col = warp % WARPS_X * WN + x * 4;

    float sum[TM][TN] = {};
    Wide a[TM], b[2][TN / 4];  // of A four ks of each row, of B this k and the next
    const Wide *a_at = &ring[(row * A_PITCH + group * BK) / 4], *b_at = &ring[(A_TILE + group * BK * BN + col) / 4];
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
    for (int tile = 0; tile < tiles; ++tile) {
        const bool more = tile + STAGES - 1 < tiles;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {  // on to the next tile
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
                for (int i = k * OfA::COUNT / (BK - 1); i < (k + 1) * OfA::COUNT / (BK - 1); ++i) copy_a(i, true, KS);
#pragma unroll
                for (int i = k * OfB::COUNT / (BK - 1); i < (k + 1) * OfB::COUNT / (BK - 1); ++i) copy_b(i, true, KS);
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

    // The first group keeps its sums; each other leaves its own in shared memory.
    __pipeline_wait_prior(0);
    __syncthreads();  // all have done with the ring
    float (*const others)[TM * TN][GROUP] = (float (*)[TM * TN][GROUP])ring;
    if (group > 0) {
#pragma unroll
        for (int e = 0; e < TM * TN; ++e) others[group - 1][e][threadIdx.x % GROUP] = sum[e / TN][e % TN];
    }
    __syncthreads();
    if (group > 0) return;
    for (int other = 0; other < SPLITS - 1; ++other) {
#pragma unroll
        for (int e = 0; e < TM * TN; ++e) sum[e / TN][e % TN] += others[other][e][threadIdx.x];
    }

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
}

__global__ void __launch_bounds__(THREADS)
split_k(int M, int N, int K, const float *A, const float *B, float *C) {
    if (N % 4 == 0 && K % 4 == 0) product<16>(M, N, K, A, B, C);
    else product<4>(M, N, K, A, B, C);
}

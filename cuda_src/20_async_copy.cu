// Tiles come by cp.async, 16 bytes a copy, into a ring of STAGES, while the threads compute with those before.
//
// sources:   CUDA C++ Programming Guide (asynchronous copies); CUTLASS (multistage pipelines); PTX ISA (cp.async)
// needs:     sm_80
// param:     BM = 256 in 64, 128, 256
// param:     BN = 128 in 64, 128, 256
// param:     BK = 8 in 8, 16
// param:     WM = 32 in 32, 64
// param:     WN = 128 in 32, 64, 128
// param:     TM = 8 in 4, 8
// param:     TN = 16 in 8, 16
// param:     STAGES = 4 in 2, 3, 4, 5
// types:     float32
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * (BM * (BK + 4) + BK * BN) * 4
// requires:  BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN, WM // TM % 2 == 0, WN // TN % 2 == 0,
//            BN <= BM // WM * (BN // WN) * 32, BM // WM * (BN // WN) <= 8,
//            BM * BK % (BM // WM * (BN // WN) * 128) == 0, BK * BN % (BM // WM * (BN // WN) * 128) == 0,
//            STAGES * (BM * (BK + 4) + BK * BN) * 4 <= 227 * 1024
// traffic:   (ceil(M / BM) * BM * K * ceil(N / BN) + K * ceil(N / BN) * BN * ceil(M / BM)) * 4, M * N * 4
// ptxas:     -O1
// sum-order: k
//
// In `warp-tile` a tile passes through registers: loaded, waited for, stored. cp.async copies from global to shared
// memory by itself. A thread asks, goes on, and waits much later. The tiles lie in a ring of STAGES: while one is
// computed with, STAGES - 1 are on their way, and one barrier a tile is enough: who passes it knows that the tile has
// come, and that everybody has done with the one whose place is filled next.
//
// The sums are 8 x 16 a thread: 6 reads of 16 bytes for 128 multiply-adds. What the next k needs is read while this
// one is computed with. A's tile stays as it is, rows of BK, so that it can be copied 16 bytes at a time; a thread
// reads four ks of a row at once. A row is four elements longer than it need be: eight threads that read eight rows
// below one another then meet in no bank.
//
// Three things make the loop fast that are not seen in the C:
// - Registers have two banks, odd and even, and an instruction that reads two new ones of a bank takes a cycle more.
//   So each row of sums keeps its element of A (the hardware reuses an operand of the instruction before), columns
//   go to and fro, so that at a turn B's element stays, and sums are stored from a copy (+ 0): four stored together
//   would have to lie side by side, each in the bank of the element of B that it is multiplied with.
// - NVIDIA's assembler reorders. At its usual level it sinks reads to where they are used, and mixes rows;
//   `ptxas: -O1` keeps the order written here, which is faster by a tenth.
// - Bounds cost nothing: a row or column beyond the edge is a copy of the last one, whose results nobody stores, and
//   where BK does not divide K it is the first tile that is shorter.

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
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tiles = (K + BK - 1) / BK, first = K - (tiles - 1) * BK;  // the first tile's ks

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
        const int ks = tile >= tiles ? 0 : tile == 0 ? first : BK;
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
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // Of the thread's first row, and first group of four columns; the next lie LANES further.
    const int row = warp / WARPS_X * WM + y, col = warp % WARPS_X * WN + x * 4;

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
async_copy(int M, int N, int K, const float *A, const float *B, float *C) {
    if (N % 4 == 0 && K % 4 == 0) product<16>(M, N, K, A, B, C);
    else product<4>(M, N, K, A, B, C);
}

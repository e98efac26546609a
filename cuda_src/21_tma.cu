// A copy engine fetches whole tiles, and barriers in shared memory tell each warp when one has come.
//
// sources:   CUDA C++ Programming Guide (asynchronous copies by the Tensor Memory Accelerator, mbarrier); CUTLASS
//            (pipelines for sm_90)
// needs:     sm_90
// param:     BM = 128 in 64, 128, 256
// param:     BN = 256 in 128, 256
// param:     BK = 16 in 8, 16
// param:     WM = 32 in 32, 64
// param:     WN = 128 in 32, 64, 128
// param:     TM = 8 in 4, 8
// param:     TN = 16 in 8, 16
// param:     STAGES = 8 in 4, 6, 8
// args:      tensor_map(A, BM, BK, BK * sizeof(element)), tensor_map(B, BK, BN), M, N, K, C
// threads:   BM / WM * (BN / WN) * 32
// grid:      ceil(N / BN), ceil(M / BM)
// shared-bytes: STAGES * ((BM + BN) * BK * sizeof(element) + 8)
// requires:  N % (16 // sizeof(element)) == 0, K % (16 // sizeof(element)) == 0,
//            BM % WM == 0, BN % WN == 0, WM * WN == 32 * TM * TN, WM // TM % 4 == 0, WN // TN % 2 == 0,
//            BM // WM * (BN // WN) <= 8, BK * sizeof(element) >= 32, BK * sizeof(element) <= 128,
//            STAGES * ((BM + BN) * BK * sizeof(element) + 8) <= 227 * 1024,
//            TM * TN * sizeof(element) / 4 + 4 * TM + TN * sizeof(element) / 2 + 20
//            <= min(255, 2048 // (BM / WM * (BN / WN)))
// traffic:   (M * K * ceil(N / BN) + K * N * ceil(M / BM)) * sizeof(element),
//            M * N * sizeof(element)
// ptxas:     -O1
// sum-order: k
//
// With cp.async every thread still works out addresses and asks for its own 16 bytes. Here one thread asks for a
// whole tile, by one instruction. The copy engine of the multiprocessor (Tensor Memory Accelerator) knows the matrix
// from a *tensor map*, 128 bytes that the host made: it walks over the tile's rows by itself, and puts zeros where
// the tile reaches beyond the matrix. So loading needs no bounds, no addresses and no registers.
//
// When has a tile come? Each stage of the ring has a barrier in shared memory. The thread that asks announces so many
// bytes to it, the engine counts them off as it writes them, and all threads wait for the last before they read.
//
// And when may the next tile overwrite it? When all have read it: they meet at __syncthreads once a tile, as in
// `async-copy`, and then one of them asks for the tile that is STAGES ahead. A second barrier, at which each warp
// reports that it has done, would let warps drift apart, and needs no meeting; but on an H200 it was a tenth slower.
// And an extra warp that does nothing but ask would cost registers: each quarter of a multiprocessor has 16,384 for its
// own warps, and the quarter with three of them could give a thread 168.
//
// The engine cannot transpose A's tile, nor make its rows longer. A thread reads 16 bytes along k, and other threads of
// its warp the rows below: four rows of 64 bytes, or eight of 32, would meet in the same banks. The engine *swizzles*:
// of a row's 16-byte pieces it puts number c at place c ^ (row / 4 % 2) (or, of four, c ^ (row / 2 % 4)), and then
// they use all banks.
//
// The loop is that of `async-copy`. A matrix must have rows of a multiple of 16 bytes; cudamm pads others with zeros on
// the host, and does not time that. In float64 sums take twice the registers: -D BN=128 -D BK=8 -D WN=64 -D TN=8.

#include <cuda.h>

#define WARPS_X (BN / WN)
#define WARPS (BM / WM * WARPS_X)
#define THREADS (WARPS * 32)
// A warp's threads: LANES_Y rows of LANES_X.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

const int WIDE = 16 / sizeof(element);
struct alignas(16) Wide {
    element at[WIDE];
};

typedef unsigned long long Barrier;

// In Wide: a row of each tile, and both tiles.
const int ROW_A = BK / WIDE, ROW_B = BN / WIDE;
const int STAGE = BM * ROW_A + BK * ROW_B;

__device__ __forceinline__ unsigned shared_address(const void *of) { return __cvta_generic_to_shared(of); }

// A phase of the barrier ends when so many arrivals have been counted, and all bytes that were announced.
__device__ __forceinline__ void init(Barrier *barrier, int arrivals) {
    const unsigned at = shared_address(barrier);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(at), "r"(arrivals) : "memory");
}

// One arrival, which announces so many bytes.
__device__ __forceinline__ void arrive_and_expect(Barrier *barrier, int bytes) {
    const unsigned at = shared_address(barrier);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(at), "r"(bytes) : "memory");
}

// Waits until the phase of this parity has ended. Phases are 0, 1, 0, 1, …; one of parity 1 counts as ended before.
__device__ __forceinline__ void wait(Barrier *barrier, int parity) {
    const unsigned at = shared_address(barrier);
    int ended;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.b32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(ended) : "r"(at), "r"(parity) : "memory");
    } while (!ended);
}

// The engine copies the box of a matrix that begins at (row, column); the barrier counts its bytes as they come.
__device__ __forceinline__ void copy(Wide *to, const CUtensorMap *from, int row, int column, Barrier *barrier) {
    const unsigned at = shared_address(to), counts = shared_address(barrier);
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 : : "r"(at), "l"(from), "r"(column), "r"(row), "r"(counts) : "memory");
}

// A row's 16-byte piece number c lies at c ^ swizzled(row).
__device__ __forceinline__ constexpr int swizzled(int row) { return row * ROW_A / 8 % ROW_A; }

extern __shared__ __align__(1024) Wide ring[];

__global__ void __launch_bounds__(THREADS)
tma(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
    int M, int N, int K, element *C) {
    Barrier *const full = (Barrier *)&ring[STAGES * STAGE];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int tiles = (K + BK - 1) / BK;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) init(&full[i], 1);
        asm volatile("fence.proxy.async.shared::cta;" : : : "memory");  // the engine sees them from here on
    }
    __syncthreads();

    const auto fetch = [&](int tile) {
        const int stage = tile % STAGES;
        Wide *const at = &ring[stage * STAGE];
        arrive_and_expect(&full[stage], STAGE * sizeof(Wide));
        copy(at, &map_A, row0, tile * BK, &full[stage]);
        copy(at + BM * ROW_A, &map_B, tile * BK, col0, &full[stage]);
    };
    if (threadIdx.x == 0)
        for (int tile = 0; tile < STAGES && tile < tiles; ++tile) fetch(tile);
    __syncwarp();

    // A thread's rows lie LANES_Y apart, its columns in groups of WIDE that lie WIDE * LANES_X apart.
    const int y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    const int row = warp / WARPS_X * WM + y, col = warp % WARPS_X * WN + x * WIDE;

    element sum[TM][TN] = {};
    Wide a[TM], b[2][TN / WIDE];  // of A WIDE ks of each row, of B this k and the next
    // Where a piece of the thread's first row lies, for each place that it can have.
    const Wide *a_at[ROW_A], *b_at = &ring[BM * ROW_A + col / WIDE];
#pragma unroll
    for (int piece = 0; piece < ROW_A; ++piece) a_at[piece] = &ring[row * ROW_A + (piece ^ swizzled(y))];
    const auto load_a = [&](int i, int k) {
        a[i] = a_at[k / WIDE ^ swizzled(i * LANES_Y)][i * LANES_Y * ROW_A];
    };
    const auto load_b = [&](int k) {
        for (int j = 0; j < TN / WIDE; ++j) b[k % 2][j] = b_at[k * ROW_B + j * LANES_X];
    };

    wait(&full[0], 0);
#pragma unroll
    for (int i = 0; i < TM; ++i) load_a(i, 0);
    load_b(0);
    int stage = 0, parity = 0;
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {  // on to the next tile
                const int on = stage == STAGES - 1 ? STAGE - STAGES * STAGE : STAGE;
                parity = stage == STAGES - 1 ? parity ^ 1 : parity;
                stage = stage == STAGES - 1 ? 0 : stage + 1;
#pragma unroll
                for (int piece = 0; piece < ROW_A; ++piece) a_at[piece] += on;
                b_at += on;
                if (tile + 1 < tiles) wait(&full[stage], parity);
                __syncthreads();  // all have read what they need of this tile: another into its place
                if (threadIdx.x == 0 && tile + STAGES < tiles) fetch(tile + STAGES);
                __syncwarp();
            }
            load_b((k + 1) % BK);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int n = 0; n < TN; ++n) {
                    const int j = i % 2 ? TN - 1 - n : n;
                    sum[i][j] += a[i].at[k % WIDE] * b[k % 2][j / WIDE].at[j % WIDE];
                }
                if ((k + 1) % WIDE == 0) load_a(i, (k + 1) % BK);  // this row's ks are used up
            }
        }
    }

    for (int i = 0; i < TM; ++i) {
        const int r = row0 + row + i * LANES_Y;
        if (r >= M) continue;
        for (int j = 0; j < TN / WIDE; ++j) {
            const int c = col0 + col + j * LANES_X * WIDE;
            if (c >= N) continue;
            Wide out;
            for (int w = 0; w < WIDE; ++w) out.at[w] = sum[i][j * WIDE + w] + element(0);  // a copy: see async-copy
            *(Wide *)&C[(size_t)r * N + c] = out;
        }
    }
}

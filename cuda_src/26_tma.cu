// A copy engine fetches whole tiles, and barriers in shared memory signal when a tile is complete.
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
// With cp.async every thread computes addresses and starts the copies of its own 16 bytes. Here one thread starts the
// copy of a whole tile by one instruction. The multiprocessor's copy engine (Tensor Memory Accelerator) reads a *tensor
// map*, 128 bytes with which the host describes the matrix. The engine walks over the tile's rows by itself, and stores
// zeros where the tile reaches beyond the matrix. So the threads need no bounds checks, no addresses and no registers.
//
// When is a tile complete? Each stage of the ring has a barrier in shared memory. The thread that starts the copy
// announces the number of bytes to the barrier, the engine counts them as it writes them, and all threads wait for the
// last byte before they read. The last byte ends a *phase* of the barrier, and the next phase belongs to the next tile
// in this stage. Phases have parity 0, 1, 0, 1, …: each time the threads come back to a stage, they wait for the other
// parity. The instructions are in barriers.cuh, each behind a named function: `barrier_arrive_expect` announces the
// bytes, `copy_box` starts a copy, and `barrier_wait` waits for the end of a phase.
//
// When may a later tile overwrite a tile? When all threads have read it: they meet at __syncthreads once per tile, as
// in `async-copy`, and then one thread starts the copy of the tile that is STAGES ahead. A second barrier, at which
// each warp reports that it has read the tile, would let warps drift apart; on an H200 that kernel took 10% longer. An
// extra warp that only starts copies would be the ninth, so that one quarter of the multiprocessor would hold three
// warps. These would share the quarter's 16,384 registers: at most 168 registers for a thread.
//
// The engine can neither transpose A's tile nor pad its rows. A thread reads 16 bytes along k, and other threads of its
// warp read the rows below. Four rows of 64 bytes, or eight rows of 32 bytes, would have bank conflicts. Therefore the
// engine *swizzles* the tile: it stores a row's 16-byte piece c at position c ^ (row / 4 % 2) if a row has two pieces,
// at c ^ (row / 2 % 4) if a row has four, and at c ^ (row % 8) if it has eight. Then the reads use all banks.
//
// The main loop is that of `async-copy`. A row of a matrix must have a multiple of 16 bytes; cudamm pads other matrices
// with zeros on the host, which is not timed. In float64 the sums take twice the registers, so choose smaller tiles:
// -D BN=128 -D BK=8 -D WN=64 -D TN=8.
//
//     cudamm show --diff async-copy tma

#include "barriers.cuh"

#define WARPS_X (BN / WN)
#define WARPS (BM / WM * WARPS_X)
#define THREADS (WARPS * 32)
// The threads of a warp form LANES_Y rows of LANES_X threads.
#define LANES_X (WN / TN)
#define LANES_Y (WM / TM)

// 16 bytes of elements. Because of the alignment the compiler loads and stores a Vector by one instruction.
const int VEC = 16 / sizeof(element);
struct alignas(16) Vector {
    element v[VEC];
};

// In Vectors: a row of A's tile, a row of B's tile, and a stage (both tiles).
const int ROW_A = BK / VEC, ROW_B = BN / VEC;
const int STAGE = BM * ROW_A + BK * ROW_B;

// Piece c of a row lies at position c ^ swizzle(row).
__device__ __forceinline__ constexpr int swizzle(int row) { return row * ROW_A / 8 % ROW_A; }

extern __shared__ __align__(1024) Vector ring[];

__global__ void __launch_bounds__(THREADS)
tma(const __grid_constant__ CUtensorMap map_A, const __grid_constant__ CUtensorMap map_B,
    int M, int N, int K, element *C) {
    Barrier *const full = (Barrier *)&ring[STAGES * STAGE];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int tiles = (K + BK - 1) / BK;

    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; ++i) barrier_init(&full[i], 1);
        proxy_fence();  // makes the barriers visible to the engine
    }
    __syncthreads();

    const auto fetch = [&](int tile) {
        const int stage = tile % STAGES;
        Vector *const target = &ring[stage * STAGE];
        barrier_arrive_expect(&full[stage], STAGE * sizeof(Vector));
        copy_box(target, &map_A, row0, tile * BK, &full[stage]);
        copy_box(target + BM * ROW_A, &map_B, tile * BK, col0, &full[stage]);
    };
    // Load the first tiles.
    if (threadIdx.x == 0)
        for (int tile = 0; tile < STAGES && tile < tiles; ++tile) fetch(tile);
    __syncwarp();

    // A thread's rows lie LANES_Y apart. Its columns form groups of VEC columns, which lie VEC * LANES_X apart.
    const int lane_y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, lane_x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    const int thread_row = warp / WARPS_X * WM + lane_y, thread_col = warp % WARPS_X * WN + lane_x * VEC;

    // Fetch the first fragments.
    element sum[TM][TN] = {};
    Vector reg_a[TM], reg_b[2][TN / VEC];  // A: VEC values of k of each row; B: this k and the next
    // The address of each piece of the thread's first row. For row i, fetch_a flips the piece by swizzle(i * LANES_Y).
    const Vector *a_piece[ROW_A], *b_tile = &ring[BM * ROW_A + thread_col / VEC];
#pragma unroll
    for (int piece = 0; piece < ROW_A; ++piece) a_piece[piece] = &ring[thread_row * ROW_A + (piece ^ swizzle(lane_y))];
    const auto fetch_a = [&](int i, int k) {
        reg_a[i] = a_piece[k / VEC ^ swizzle(i * LANES_Y)][i * LANES_Y * ROW_A];
    };
    const auto fetch_b = [&](int k) {
        for (int j = 0; j < TN / VEC; ++j) reg_b[k % 2][j] = b_tile[k * ROW_B + j * LANES_X];
    };

    barrier_wait(&full[0], 0);
#pragma unroll
    for (int i = 0; i < TM; ++i) fetch_a(i, 0);
    fetch_b(0);

    // Compute, load the next tiles, and fetch the next fragments.
    int stage = 0, parity = 0;
    for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
        for (int dot_k = 0; dot_k < BK; ++dot_k) {
            if (dot_k == BK - 1) {  // the next reads are of the next tile
                const int offset = stage == STAGES - 1 ? STAGE - STAGES * STAGE : STAGE;
                parity = stage == STAGES - 1 ? parity ^ 1 : parity;
                stage = stage == STAGES - 1 ? 0 : stage + 1;
#pragma unroll
                for (int piece = 0; piece < ROW_A; ++piece) a_piece[piece] += offset;
                b_tile += offset;
                if (tile + 1 < tiles) barrier_wait(&full[stage], parity);
                __syncthreads();  // all threads have read this tile: another tile may overwrite it
                if (threadIdx.x == 0 && tile + STAGES < tiles) fetch(tile + STAGES);
                __syncwarp();
            }
            fetch_b((dot_k + 1) % BK);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int n = 0; n < TN; ++n) {
                    const int j = i % 2 ? TN - 1 - n : n;  // back in odd rows: b is used again at each turn
                    sum[i][j] += reg_a[i].v[dot_k % VEC] * reg_b[dot_k % 2][j / VEC].v[j % VEC];
                }
                if ((dot_k + 1) % VEC == 0) fetch_a(i, (dot_k + 1) % BK);  // the elements of this row are used up
            }
        }
    }

    // Store the results.
    for (int i = 0; i < TM; ++i) {
        const int r = row0 + thread_row + i * LANES_Y;
        if (r >= M) continue;
        for (int j = 0; j < TN / VEC; ++j) {
            const int c = col0 + thread_col + j * LANES_X * VEC;
            if (c >= N) continue;
            Vector result;
            for (int w = 0; w < VEC; ++w) result.v[w] = sum[i][j * VEC + w] + element(0);  // a copy, as in `async-copy`
            *(Vector *)&C[(size_t)r * N + c] = result;
        }
    }
}

// The multiply-adds come in an order in which the two banks of registers deliver every operand in time.
//
// sources:   Gray, maxas: SGEMM (banks of registers, operands reused, the order of multiply-adds); CUTLASS (multistage
//            pipelines)
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
// The name is from the first version; the new idea here is the order of the multiply-adds. `lean-loop` has nearly the
// same instructions, but not every cycle issues one. Registers lie in two banks, odd and even, and an instruction that
// reads two new registers of one bank takes a cycle more. An operand that the previous instruction read in the same
// position can be reused. Therefore:
// - All multiply-adds of a row of sums use the same element of A, one after the other. The columns run forth in one row
//   and back in the next, so that at the turn the element of B is reused.
// - The sums are stored from a copy, made by adding 0. A store of 16 bytes needs four consecutive registers, as a load
//   of B does. If these were the sums, each sum and the element of B in its multiply-add would lie in the same bank.
//   With the copy, the compiler may place the sums freely.
// - NVIDIA's assembler reorders instructions. At its default level it moves reads down to their first use and mixes
//   rows; `ptxas: -O1` keeps the order of this file, which is faster by a tenth.
//
// The whole method: tiles as in `row-tile`, copied as in `async-ring`, fragments as in `fragment-prefetch`.
//
//     cudamm show --diff lean-loop async-copy

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

// How the block copies a tile of ROWS x COLUMNS elements, BYTES per copy: ROW_THREADS threads copy one row, all threads
// together copy ROW_STEP rows at a time, and each thread makes COUNT copies.
template <int ROWS, int COLUMNS, int BYTES>
struct CopyPlan {
    static const int ELEMENTS = BYTES / 4, ROW_THREADS = COLUMNS / ELEMENTS;
    static const int ROW_STEP = THREADS / ROW_THREADS, COUNT = ROWS / ROW_STEP;
};

// BYTES is the size of a copy: 16 if every row of A and B begins at a multiple of 16 bytes, otherwise 4.
template <int BYTES>
__device__ __forceinline__ void product(int M, int N, int K, const float *A, const float *B, float *C) {
    typedef CopyPlan<BM, BK, BYTES> PlanA;
    typedef CopyPlan<BK, BN, BYTES> PlanB;
    const int ELEMENTS = BYTES / 4;  // per copy
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tiles = (K + BK - 1) / BK, first_depth = K - (tiles - 1) * BK;  // depth of the first tile

    // The first element that this thread copies of each tile, and the targets and sources of all its copies.
    const int a_k = threadIdx.x % PlanA::ROW_THREADS * ELEMENTS, a_row = threadIdx.x / PlanA::ROW_THREADS;
    const int b_col = threadIdx.x % PlanB::ROW_THREADS * ELEMENTS, b_k = threadIdx.x / PlanB::ROW_THREADS;
    float *const shared = (float *)ring;
    float *a_target = shared + a_row * A_PITCH + a_k, *b_target = shared + A_TILE + b_k * BN + b_col;
    const float *a_source[PlanA::COUNT], *b_source[PlanB::COUNT];
#pragma unroll
    for (int i = 0; i < PlanA::COUNT; ++i)
        a_source[i] = A + (size_t)min(row0 + a_row + i * PlanA::ROW_STEP, M - 1) * K + a_k;
#pragma unroll
    for (int i = 0; i < PlanB::COUNT; ++i)
        b_source[i] = B + (size_t)(b_k + i * PlanB::ROW_STEP) * N + min(col0 + b_col, N - ELEMENTS);
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
    // Load the first tiles. Missing tiles are filled with zeros: the last step fetches fragments from the tile after
    // it, and does not use them.
    for (int tile = 0; tile < STAGES; ++tile) {
        const int depth = tile >= tiles ? 0 : tile == 0 ? first_depth : BK;
        if (tile < STAGES - 1 || depth == 0) {
#pragma unroll
            for (int i = 0; i < PlanA::COUNT; ++i) copy_a(i, a_k < depth, depth);
#pragma unroll
            for (int i = 0; i < PlanB::COUNT; ++i) copy_b(i, b_k + i * PlanB::ROW_STEP < depth, depth);
        }
        if (tile == STAGES - 1) break;
        __pipeline_commit();  // a group of copies per tile, even an empty one: the waits below count groups
        a_target += STAGE, b_target += STAGE;
    }

    // Lanes 0 and 1 form a column of the warp, lanes 0 and 2 a row, and so on: in each read of either tile at least
    // two threads read the same 16 bytes.
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_y = lane % 2 + lane / 4 % (LANES_Y / 2) * 2, lane_x = lane / 2 % 2 + lane / 4 / (LANES_Y / 2) * 2;
    // The thread's first row, and the first column of its first group of four; its next row lies LANES_Y rows further
    // down, its next group LANES_X groups further right.
    const int thread_row = warp / WARPS_X * WM + lane_y, thread_col = warp % WARPS_X * WN + lane_x * 4;

    // Fetch the first fragments.
    float sum[TM][TN] = {};
    Vector reg_a[TM], reg_b[2][TN / 4];  // A: four values of k of each row; B: this k and the next
    const Vector *a_tile = &ring[thread_row * A_PITCH / 4], *b_tile = &ring[(A_TILE + thread_col) / 4];
    const auto fetch_a = [&](int i, int k) { reg_a[i] = a_tile[(i * LANES_Y * A_PITCH + k) / 4]; };
    const auto fetch_b = [&](int k) {
        for (int j = 0; j < TN / 4; ++j) reg_b[k % 2][j] = b_tile[k * BN / 4 + j * LANES_X];
    };
    __pipeline_wait_prior(STAGES - 2);  // this thread's copies of the first tile are complete
    __syncthreads();                    // and those of all other threads
#pragma unroll
    for (int i = 0; i < TM; ++i) fetch_a(i, 0);
    fetch_b(0);

    // Load the next tiles, compute, and fetch the next fragments.
    int read_stage = 0, fill_stage = STAGES - 1;
    for (int tile = 0; tile < tiles; ++tile) {
        const bool prefetch = tile + STAGES - 1 < tiles;
#pragma unroll
        for (int dot_k = 0; dot_k < BK; ++dot_k) {
            if (dot_k == BK - 1) {  // the next reads are of the next tile
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
            if (prefetch && dot_k < BK - 1) {  // issue some copies at each k: issued together, copies would stall
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

    // Store the results.
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int r = row0 + thread_row + i * LANES_Y;
        if (r >= M) continue;
#pragma unroll
        for (int j = 0; j < TN / 4; ++j) {
            const int c = col0 + thread_col + j * LANES_X * 4;
            float *const target = &C[(size_t)r * N + c];
            Vector result;
            for (int w = 0; w < 4; ++w) result.v[w] = sum[i][j * 4 + w] + 0.0f;  // a copy: see the banks above
            if (BYTES == 16 && c < N) *(Vector *)target = result;
            else
                for (int w = 0; w < 4; ++w)
                    if (c + w < N) target[w] = result.v[w];
        }
    }
}

__global__ void __launch_bounds__(THREADS)
async_copy(int M, int N, int K, const float *A, const float *B, float *C) {
    if (N % 4 == 0 && K % 4 == 0) product<16>(M, N, K, A, B, C);
    else product<4>(M, N, K, A, B, C);
}

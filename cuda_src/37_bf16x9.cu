// On tensor cores: each float32 is split exactly into three bfloat16, and all nine products are added up.
//
// sources:   NVIDIA, cuBLAS (BF16x9, float32 by bfloat16 tensor cores); Ootomo, Yokota: Recovering Single Precision
//            Accuracy from Tensor Cores (2022); PTX ISA (wgmma, ldmatrix, mbarrier, setmaxnreg)
// needs:     sm_90a
// ceiling:   16 / 9
// param:     STAGES = 4 in 2, 3, 4
// param:     BLOCKS = 132 in 66, 114, 132
// types:     float32
// threads:   384
// grid:      BLOCKS
// dependent-launch: yes
// shared-bytes: STAGES * (6 * 128 * 32 * 2 + 16)
//
// The methods for float32, up to `stream-k`, are limited by the float32 units: 128 multiply-adds per clock cycle, with
// one instruction for every 32 of them. Tensor cores do 16 times as many, with instructions for whole tiles. But they
// multiply bfloat16, which has only the first 8 of the 24 significant bits of float32.
//
// So a float32 is split into three parts: its first 8 bits, the next 8 and the last 8 become one bfloat16 each.
// Bfloat16 has the same range of exponents as float32, so x = x0 + x1 + x2 exactly. Then x y is the sum of nine
// products of parts. Each product has at most 16 significant bits, so it is exact too. These are nine multiplications
// instead of one, on units that are 16 times as fast.
//
// The additions are not exact. Tensor cores do not round sums but truncate them towards zero, and over a long sum these
// errors add up. So the tensor cores sum over only 32 values of k at a time, the smallest products first, and the
// float32 units add the result to the sum with normal rounding: one rounding for 32 values of k, where a chain of FMAs
// has 32. Therefore a long sum is mostly closer to the exact one than with the other methods.
//
// Some numbers cannot be split: infinities, NaNs, and numbers so small (below 2^-110) that bfloat16 has no exponents
// for their last bits. The split detects them, and the block then computes its sums once more with FMAs: slowly, but
// correctly. It also uses FMAs if K is less than 16: so short a sum has hardly any rounding error, and truncation could
// be worse.
//
// One warpgroup of four warps is the *producer*: it reads A and B, splits them, and fills a ring of tiles in shared
// memory. Two warpgroups are *consumers*: each computes 64 rows of the tile of C on the tensor cores. Barriers in
// shared memory signal which stage of the ring is full and which is empty again; producer and consumers never meet
// elsewhere. The tensor cores read B's parts from shared memory. A's parts are first loaded into registers, because
// each is needed three times and shared memory is busy. The instruction setmaxnreg moves registers from the producer to
// the consumers.
//
// Blocks, one for each multiprocessor, share the work as in `stream-k`; but if the last round of whole tiles is nearly
// complete, no tile is cut. The next launch begins while this one ends (see `dependent-launch`).
//
//     cudamm show --diff stream-k bf16x9

#include "barriers.cuh"
#include "previous_kernel.cuh"

const int BM = 128, BN = 128, BK = 32, CONSUMERS = BM / 64;  // consumer warpgroups

// 16 bytes. Because of the alignment the compiler loads and stores a Vector by one instruction.
struct alignas(16) Vector {
    float v[4];
};

// In bytes: one part of A's tile, one part of B's tile, and a stage (three parts of each).
const int A_PART = BM * BK * 2, B_PART = BK * BN * 2, STAGE = 3 * (A_PART + B_PART);

extern __shared__ __align__(1024) char ring[];

// A block has a part of at most two cut tiles: `parts` holds the sums of all its threads for each. `arrived` counts, on
// each level of adding up, the warpgroups that have written their sums.
__device__ float parts[2 * BLOCKS * CONSUMERS][64][128];
__device__ int arrived[4][2 * BLOCKS * CONSUMERS];

const int MIN_IDLE = 6;     // tiles are cut if blocks would otherwise be idle for this number of steps on average
const int MIN_STEPS = 4;    // minimum number of steps for a block
const int GROUP_PARTS = 8;  // number of parts that are added up on a level
const int MIN_K = 16;       // for a smaller K truncation may be worse than the rounding of FMAs
const int BAND = 8;         // rows of tiles that blocks walk through together, so that they read the same of A and B

// The multiplications run asynchronously. `wgmma_fence` precedes them if other instructions used their registers;
// `wgmma_wait` waits until they have ended.
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
__device__ __forceinline__ void wgmma_wait(float (&sums)[64]) {
    asm volatile("wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;" : : : "memory");
#pragma unroll
    for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(sums[i]));  // keeps the compiler from reading them earlier
}

// Load 16 x 16 elements of a part of A for a warp, into the registers in which `wgmma` expects them: each thread passes
// the address of 16 bytes.
__device__ __forceinline__ void ldmatrix(unsigned (&a)[4], unsigned address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address) : "memory");
}

#define EIGHT(d, i) \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
        "+f"(d[i + 7])

// Multiply 64 x 16 elements of A by 16 x 128 elements of B with the warpgroup, and add the product to `sums`, or
// store it there if `add` is false.
__device__ __forceinline__ void wgmma(float (&sums)[64], const unsigned (&a)[4], unsigned long long b, bool add) {
    asm volatile("{\n"
                 ".reg .pred add;\n"
                 "setp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, add, 1, 1, 1;\n"  // not negated; rows of B run along n
                 "}"
                 : EIGHT(sums, 0), EIGHT(sums, 8), EIGHT(sums, 16), EIGHT(sums, 24), EIGHT(sums, 32), EIGHT(sums, 40),
                   EIGHT(sums, 48), EIGHT(sums, 56)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

// Return the descriptor of B's tile in shared memory for `wgmma`. The tile consists of groups of 8 rows by 64 columns,
// 128 bytes per row, in swizzle mode 1. The next 8 rows lie 8 * 128 bytes further, the next 64 columns BK * 128 bytes.
__device__ __forceinline__ unsigned long long b_descriptor(unsigned address) {
    return 1ull << 62 | (unsigned long long)(8 * 128 / 16) << 32 | BK * 128 / 16 << 16 | address / 16;
}

// Split four numbers and store their parts; return the bits that are left over after the third part, 0 if none are.
__device__ __forceinline__ unsigned split(Vector numbers, char *target, int part_bytes) {
    unsigned bits[4];
#pragma unroll
    for (int part = 0; part < 3; ++part) {
        for (int w = 0; w < 4; ++w) bits[w] = __float_as_uint(numbers.v[w]);
        // The upper halves of two numbers in one word: a bfloat16 is the upper half of a float32.
        const unsigned low = __byte_perm(bits[0], bits[1], 0x7632), high = __byte_perm(bits[2], bits[3], 0x7632);
        *(uint2 *)(target + part * part_bytes) = {low, high};
        for (int w = 0; w < 4; ++w) numbers.v[w] -= __uint_as_float(bits[w] & 0xffff0000);
    }
    // The lower half of an exact third part is 0. An infinity or NaN leaves a NaN, whose bits are all ones.
    return (bits[0] | bits[1] | bits[2] | bits[3]) & 0xffff;
}

// Read four numbers of a row, of which `remaining` are left; numbers that do not exist are 0.
template <bool ALIGNED>
__device__ __forceinline__ Vector read_vector(const float *source, bool row_exists, int remaining) {
    Vector numbers = {};
    if (row_exists && ALIGNED && remaining > 0) numbers = *(const Vector *)source;
    if (row_exists && !ALIGNED)
        for (int w = 0; w < 4; ++w)
            if (w < remaining) numbers.v[w] = source[w];
    return numbers;
}

// ALIGNED: every row of A and B begins at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ __forceinline__ void product(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ int4 inexact[STAGES];  // for each stage and each warp of the producer: true if bits were left over
    __shared__ int arrived_before[CONSUMERS];
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE), *const empty = full + STAGES;
    allow_next_kernel();
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; ++i) {
            barrier_init(&full[i], 128);             // all threads of the producer
            barrier_init(&empty[i], 4 * CONSUMERS);  // all warps of the consumers
        }
    proxy_fence();
    __syncthreads();
    wait_for_previous_kernel();

    const int steps = (K + BK - 1) / BK, tile_columns = (N + BN - 1) / BN, tile_rows = (M + BM - 1) / BM;
    // The first `cut_tiles` tiles are cut, and `sharers` blocks share them: all blocks, or fewer if there are so few
    // tiles that a share would have less than MIN_STEPS steps.
    const int tiles = tile_columns * tile_rows;
    const int last_round = tiles % BLOCKS;  // number of tiles in the incomplete round
    const int idle_steps = last_round == 0 ? 0 : (BLOCKS - last_round) * steps;
    const int cut_tiles = idle_steps < MIN_IDLE * BLOCKS ? 0 : tiles < BLOCKS ? tiles : last_round + BLOCKS;
    const int cut_steps = cut_tiles * steps;
    const int sharers = cut_tiles == 0 ? 1 : tiles < BLOCKS ? min(BLOCKS, max(tiles, cut_steps / MIN_STEPS)) : BLOCKS;
    const int share = cut_steps / sharers, larger_shares = cut_steps % sharers;  // the larger shares have a step more
    const auto share_begin = [&](int block) { return block * share + min(block, larger_shares); };
    const auto block_of = [&](int step) {
        const int steps_in_larger = larger_shares * (share + 1);
        return step < steps_in_larger ? step / (share + 1) : larger_shares + (step - steps_in_larger) / share;
    };
    // The steps that remain of this block's share, and its next whole tile.
    int share_next = blockIdx.x < sharers ? share_begin(blockIdx.x) : cut_steps;
    const int share_end = blockIdx.x < sharers ? share_begin(blockIdx.x + 1) : cut_steps;
    int next_whole_tile = cut_tiles + blockIdx.x;
    // The block computes the steps from `step_begin` up to `step_end` of `tile`; it has finished if `tile` is `tiles`.
    int tile, step_begin, step_end, row0, col0;
    const auto next_work = [&] {
        if (share_next < share_end) {
            tile = share_next / steps, step_begin = share_next % steps;
            step_end = min(steps, step_begin + share_end - share_next);
            share_next += step_end - step_begin;
        } else {
            tile = min(next_whole_tile, tiles), step_begin = 0, step_end = steps;
            next_whole_tile += BLOCKS;
        }
        const int band_tiles = BAND * tile_columns, band_row = tile / band_tiles * BAND;
        const int band_rows = min(BAND, tile_rows - band_row), in_band = tile % band_tiles;
        if (tile < tiles) row0 = (band_row + in_band % band_rows) * BM, col0 = in_band / band_rows * BN;
    };
    next_work();

    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
    int stage = 0;
    if (warpgroup == CONSUMERS) {
        // The producer reads A's tile with 8 threads per row, B's tile with a warp per row: PIECES pieces of 16 rows of
        // A, and of 4 rows of B. While it splits the pieces of one tile, it loads the pieces of the other.
        asm volatile("setmaxnreg.dec.sync.aligned.u32 104;");
        const int PIECES = 8;
        const int a_row = thread / 8, a_k = thread % 8 * 4, b_k = thread / 32, b_col = thread % 32 * 4;
        Vector a[PIECES], b[PIECES];
        // A row of A's tile has 64 bytes: four times 16 bytes, of which number c is stored at c ^ (row / 2 % 4). A row
        // of B's tile has two halves of 128 bytes; the second halves follow the first halves of all rows. A half is
        // eight times 16 bytes, of which number c is stored at c ^ (row % 8). So the same 16 bytes of 8 rows lie in
        // different banks.
        char *const a_target = ring + a_row * 64 + (a_k / 8 ^ a_row / 2 % 4) * 16 + a_k % 8 * 2;
        char *const b_half = ring + 3 * A_PART + b_col / 64 * (BK * 128) + b_k * 128 + b_col % 8 * 2;
        char *b_target[2];  // for pieces of even and of odd number: rows b_k and b_k + 4 of eight rows
        for (int i = 0; i < 2; ++i) b_target[i] = b_half + (b_col % 64 / 8 ^ (b_k + i * 4)) * 16;
        // The source of the next piece, the number of rows from there on, and the number of elements of a row from
        // there on.
        const float *a_source, *b_source;
        int a_rows_left, a_ks_left, b_ks_left, b_cols_left;
        const auto begin_tile = [&] {
            const int k0 = step_begin * BK;
            a_source = A + (size_t)(row0 + a_row) * K + k0 + a_k;
            b_source = B + (size_t)(k0 + b_k) * N + col0 + b_col;
            a_rows_left = tile < tiles ? M - row0 - a_row : 0, a_ks_left = K - k0 - a_k;
            b_ks_left = K - k0 - b_k, b_cols_left = N - col0 - b_col;
        };
        const auto read_a = [&](int i) {
            a[i] = read_vector<ALIGNED>(a_source, i * 16 < a_rows_left, a_ks_left);
            a_source += i < PIECES - 1 ? (long long)16 * K : BK - (long long)16 * (PIECES - 1) * K;
        };
        const auto read_b = [&](int i) {
            b[i] = read_vector<ALIGNED>(b_source, i * 4 < b_ks_left, b_cols_left);
            b_source += (size_t)4 * N;
        };
        begin_tile();
#pragma unroll
        for (int i = 0; i < PIECES; ++i) read_a(i);
        for (int phase = 1; tile < tiles;) {
            unsigned leftover_bits = 0;
            barrier_wait(&empty[stage], phase);
#pragma unroll
            for (int i = 0; i < PIECES; ++i) {
                leftover_bits |= split(a[i], a_target + stage * STAGE + i * 16 * 64, A_PART);
                read_b(i);
            }
            if (++step_begin < step_end) a_ks_left -= BK, b_ks_left -= BK;
            else {
                next_work();
                begin_tile();
            }
#pragma unroll
            for (int i = 0; i < PIECES; ++i) {
                leftover_bits |= split(b[i], b_target[i % 2] + stage * STAGE + i * 4 * 128, B_PART);
                read_a(i);
            }
            const bool is_inexact = __any_sync(0xffffffff, leftover_bits != 0);
            if (thread % 32 == 0) (&inexact[stage].x)[thread / 32] = is_inexact;
            proxy_fence();
            barrier_arrive(&full[stage]);
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
    // A warp has 16 of the warpgroup's 64 rows. For ldmatrix its threads 0 to 15 point to the first 8 elements of
    // each row, its threads 16 to 31 to the next 8.
    const int a_row = warpgroup * 64 + thread / 32 * 16 + thread % 16, a_half = thread % 32 / 16;
    const unsigned a_address = shared_address(ring) + a_row * 64, b_address = shared_address(ring) + 3 * A_PART;
    for (int phase = 0; tile < tiles; next_work()) {
        float sum[64] = {};
        bool use_fma = K < MIN_K;
        for (int step = step_begin; step < step_end; ++step) {
            float step_sum[64];
            unsigned a[3][BK / 16][4];
            const unsigned long long b = b_descriptor(b_address + stage * STAGE);
            barrier_wait(&full[stage], phase);
#pragma unroll
            for (int x = 2; x >= 0; --x)  // the parts of A
#pragma unroll
                for (int k = 0; k < BK / 16; ++k)
                    ldmatrix(a[x][k], a_address + stage * STAGE + x * A_PART + (k * 2 + a_half ^ a_row / 2 % 4) * 16);
            wgmma_fence();
            // The product of part x of A and part y of B decreases with x + y: the smallest products come first.
#pragma unroll
            for (int order = 4; order >= 0; --order)
#pragma unroll
                for (int x = 2; x >= 0; --x)
#pragma unroll
                    for (int k = 0; k < BK / 16; ++k) {
                        const int y = order - x;
                        if (y < 0 || y > 2) continue;
                        wgmma(step_sum, a[x][k], b + (y * B_PART + k * 16 * 128) / 16, order < 4 || k > 0);
                    }
            const int4 is_inexact = inexact[stage];
            use_fma |= is_inexact.x | is_inexact.y | is_inexact.z | is_inexact.w;
            wgmma_wait(step_sum);
            __syncwarp();
            if (thread % 32 == 0) barrier_arrive(&empty[stage]);
#pragma unroll
            for (int i = 0; i < 64; ++i) sum[i] += step_sum[i];
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }

        // A thread has two of its warp's 16 rows, 8 apart, and two of every eight columns.
        const int row = row0 + warpgroup * 64 + thread / 32 * 16 + thread % 32 / 4, col = col0 + thread % 4 * 2;
        if (use_fma) {
            for (int i = 0; i < 64; ++i) sum[i] = 0;
#pragma unroll 1
            for (int k = step_begin * BK; k < min(K, step_end * BK); ++k) {
                const float a0 = row < M ? A[(size_t)row * K + k] : 0;
                const float a8 = row + 8 < M ? A[(size_t)(row + 8) * K + k] : 0;
#pragma unroll
                for (int i = 0; i < 64; i += 4)
                    for (int w = 0; w < 2; ++w) {
                        const int c = col + i * 2 + w;
                        const float b = c < N ? B[(size_t)k * N + c] : 0;
                        sum[i + w] += a0 * b, sum[i + 2 + w] += a8 * b;
                    }
            }
        }

        // As in `stream-k`, but each warpgroup by itself: GROUP_PARTS parts of a tile are added up by the warpgroup
        // that arrives last.
        bool is_last = true;
        if (step_end - step_begin < steps) {
            const int first_block = block_of(tile * steps), last_block = block_of((tile + 1) * steps - 1);
            const auto part_of = [&](int block) {
                return (2 * block + (share_begin(block) / steps == tile ? 0 : 1)) * CONSUMERS + warpgroup;
            };
            const auto sync_warpgroup = [&] { asm volatile("bar.sync %0, 128;" : : "r"(1 + warpgroup) : "memory"); };
            int block = blockIdx.x, level = 0;  // `sum` is the sum of `stride` parts, beginning with that of `block`
            for (int stride = 1; is_last && first_block + stride <= last_block; stride *= GROUP_PARTS, ++level) {
                const int reach = stride * GROUP_PARTS, leader = first_block + (block - first_block) / reach * reach;
                const int members = min(GROUP_PARTS, (last_block - leader) / stride + 1);
                float (*const own_part)[128] = parts[part_of(block)];
#pragma unroll
                for (int i = 0; i < 64; ++i) own_part[i][thread] = sum[i];
                __threadfence();
                sync_warpgroup();  // all threads have written their sums before the warpgroup is counted
                if (thread == 0) arrived_before[warpgroup] = atomicAdd(&arrived[level][part_of(leader)], 1);
                sync_warpgroup();
                is_last = arrived_before[warpgroup] == members - 1;
                if (!is_last) break;
                __threadfence();
                if (thread == 0) arrived[level][part_of(leader)] = 0;  // for the next launch
                for (int i = 0; i < 64; ++i) sum[i] = 0;
                for (int member = 0; member < members; ++member) {
                    float (*const part)[128] = parts[part_of(leader + member * stride)];
                    float part_sum[64];
#pragma unroll
                    for (int i = 0; i < 64; ++i) part_sum[i] = __ldcg(&part[i][thread]);
#pragma unroll
                    for (int i = 0; i < 64; ++i) sum[i] += part_sum[i];
                }
                block = leader;
            }
        }
        if (!is_last) continue;

#pragma unroll
        for (int i = 0; i < 64; i += 2) {
            const int r = row + i / 2 % 2 * 8, c = col + i / 4 * 8;
            float *const target = &C[(size_t)r * N + c];
            if (r >= M || c >= N) continue;
            if (ALIGNED) *(float2 *)target = {sum[i], sum[i + 1]};
            else {
                target[0] = sum[i];
                if (c + 1 < N) target[1] = sum[i + 1];
            }
        }
    }
}

__global__ void __launch_bounds__(128 * (CONSUMERS + 1))
bf16x9(int M, int N, int K, const float *A, const float *B, float *C) {
    if (N % 4 == 0 && K % 4 == 0) product<true>(M, N, K, A, B, C);
    else product<false>(M, N, K, A, B, C);
}

// On tensor cores: each float32 is split, exactly, into three bfloat16, and all nine products are added up.
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
// shared-bytes: STAGES * (6 * 128 * 32 * 2 + 16)
//
// The rungs before end at what the float32 units can do: 128 multiply-adds a clock cycle, and for every 32 of them an
// instruction has to be issued. Tensor cores do 16 times as many, by instructions for whole tiles; but they take
// bfloat16, which is float32 without the last 16 of its 24 significant bits.
//
// So cut three times: the first 8 bits, the next 8 and the last 8 are a bfloat16 each, which has the exponents that
// float32 has, and x = x0 + x1 + x2 without any error. Then x y is nine products of parts. Each has 16 bits, so that it
// is exact too. Nine multiplications for one, on units that are 16 times as fast.
//
// What remains is how they are added up. Tensor cores do not round sums, they cut them off, always towards zero, and
// over a long sum that adds up. So they sum only 32 ks at a time, the smallest products first, and the float32 units
// add those to the sum, rounding as usual: once for 32 ks, where a chain of FMAs rounds 32 times. So the result of a
// long sum is mostly closer to the true one than that of the other rungs.
//
// What cannot be split is noticed as it is split: infinities, NaNs, and numbers so small (under 2^-110) that for their
// last bits bfloat16 has no exponents. What a block summed with one of them it sums once more with FMAs: slowly, but
// right. So it does where K is less than 16: such a sum is hardly rounded at all, and cutting could be worse.
//
// One warpgroup, four warps, *produces*: it reads A and B, splits them, and fills a ring of tiles in shared memory. Two
// *consume*: each has 64 rows of C, and feeds the tensor cores. Barriers in shared memory say which stage of the ring
// is full, and which is empty again; the two kinds never meet elsewhere. B's parts are read from shared memory by the
// tensor cores, A's go to registers first, since each is needed three times and shared memory has enough to do. And
// setmaxnreg gives the consumers registers that the producers do without.
//
// Blocks, one on each multiprocessor, share the work as in `stream-k`; but where the last round of whole tiles is
// nearly full, none is cut.

const int BM = 128, BN = 128, BK = 32, WARPGROUPS = BM / 64;  // of consumers

struct alignas(16) Wide {
    float at[4];
};

typedef unsigned long long Barrier;

// In bytes: one part of each tile, and all six.
const int A_PART = BM * BK * 2, B_PART = BK * BN * 2, STAGE = 3 * (A_PART + B_PART);

extern __shared__ __align__(1024) char ring[];

// A block has a part in two cut tiles at most. Of each the sums of all threads, and how many parts are there.
__device__ float parts[2 * BLOCKS * WARPGROUPS][64][128];
__device__ int arrived[4][2 * BLOCKS * WARPGROUPS];

const int WORTH = 6;     // steps that blocks would wait for others: for less nothing is cut
const int LEAST = 4;     // steps that are worth a block
const int TOGETHER = 8;  // parts that are added up at a time
const int FEW = 16;      // ks, of whose sum FMAs round off less than tensor cores may cut off
const int ROWS = 8;      // of tiles, that blocks walk through side by side: neighbours read the same of A and B

__device__ __forceinline__ unsigned shared_address(const void *of) { return __cvta_generic_to_shared(of); }

// A phase of the barrier ends when so many arrivals have been counted.
__device__ __forceinline__ void init(Barrier *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(Barrier *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(shared_address(barrier)) : "memory");
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

// What is written to shared memory before is there for the tensor cores (and barriers, once they have begun) after.
__device__ __forceinline__ void fence() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

// Multiplications run by themselves. `ready` comes before them, where other instructions used the registers that they
// use; `finish` waits until they have ended.
__device__ __forceinline__ void ready() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
__device__ __forceinline__ void finish(float (&sums)[64]) {
    asm volatile("wgmma.commit_group.sync.aligned;\n"
                 "wgmma.wait_group.sync.aligned 0;" : : : "memory");
#pragma unroll
    for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(sums[i]));  // the compiler must not read them before
}

// 16 x 16 of A for a warp, in the registers where `multiply` wants it: each thread gives the address of 16 bytes.
__device__ __forceinline__ void load(unsigned (&a)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(from) : "memory");
}

#define EIGHT(d, i) \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
        "+f"(d[i + 7])

// The warpgroup multiplies 64 x 16 of A by 16 x 128 of B, and adds that to `sums`, or starts them with it.
__device__ __forceinline__ void multiply(float (&sums)[64], const unsigned (&a)[4], unsigned long long b, bool add) {
    asm volatile("{\n"
                 ".reg .pred add;\n"
                 "setp.ne.b32 add, %69, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "{%64, %65, %66, %67}, %68, add, 1, 1, 1;\n"  // neither negated; of A a row is along k, of B along n
                 "}"
                 : EIGHT(sums, 0), EIGHT(sums, 8), EIGHT(sums, 16), EIGHT(sums, 24), EIGHT(sums, 32), EIGHT(sums, 40),
                   EIGHT(sums, 48), EIGHT(sums, 56)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

// How tensor cores find B in shared memory: in groups of 8 ks by 64 columns, each k 128 bytes, swizzled as they know it
// by number 1. The next 8 ks are 8 * 128 bytes further, the next 64 columns BK * 128.
__device__ __forceinline__ unsigned long long b_tile(unsigned at) {
    return 1ull << 62 | (unsigned long long)(8 * 128 / 16) << 32 | BK * 128 / 16 << 16 | at / 16;
}

// Four numbers, a part after the other: returned are bits that are left over after the third.
__device__ __forceinline__ unsigned split(Wide numbers, char *to, int part_bytes) {
    unsigned bits[4];
#pragma unroll
    for (int part = 0; part < 3; ++part) {
        for (int w = 0; w < 4; ++w) bits[w] = __float_as_uint(numbers.at[w]);
        // The upper halves of two numbers in a word: a bfloat16 is what float32 begins with.
        const unsigned first = __byte_perm(bits[0], bits[1], 0x7632), second = __byte_perm(bits[2], bits[3], 0x7632);
        *(uint2 *)(to + part * part_bytes) = {first, second};
        for (int w = 0; w < 4; ++w) numbers.at[w] -= __uint_as_float(bits[w] & 0xffff0000);
    }
    // A third part that is exact has nothing in its lower half; where infinity or NaN was, NaN is left, all ones.
    return (bits[0] | bits[1] | bits[2] | bits[3]) & 0xffff;
}

// Four numbers of a row that has `left` from there on; zeros where there are none.
template <bool WIDE>
__device__ __forceinline__ Wide read(const float *from, bool is_row, int left) {
    Wide numbers = {};
    if (is_row && WIDE && left > 0) numbers = *(const Wide *)from;
    if (is_row && !WIDE)
        for (int w = 0; w < 4; ++w)
            if (w < left) numbers.at[w] = from[w];
    return numbers;
}

// WIDE: rows of both matrices are multiples of 16 bytes.
template <bool WIDE>
__device__ __forceinline__ void product(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ int4 inexact[STAGES];  // of each stage, whether a warp of the producers had bits left over
    __shared__ int before[WARPGROUPS];
    Barrier *const full = (Barrier *)(ring + STAGES * STAGE), *const empty = full + STAGES;
    if (threadIdx.x == 0)
        for (int i = 0; i < STAGES; ++i) {
            init(&full[i], 128);
            init(&empty[i], 4 * WARPGROUPS);
        }
    fence();
    __syncthreads();

    const int steps = (K + BK - 1) / BK, across = (N + BN - 1) / BN, down = (M + BM - 1) / BM, tiles = across * down;
    // Of the tiles, `shared_tiles` are cut. So many blocks share them: of few tiles only as many as get LEAST steps.
    const int rest = tiles % BLOCKS, idle = rest == 0 ? 0 : (BLOCKS - rest) * steps;
    const int shared_tiles = idle < WORTH * BLOCKS ? 0 : tiles < BLOCKS ? tiles : rest + BLOCKS;
    const int all = shared_tiles * steps;
    const int sharers = shared_tiles == 0 ? 1 : tiles < BLOCKS ? min(BLOCKS, max(tiles, all / LEAST)) : BLOCKS;
    const int share = all / sharers, larger = all % sharers;  // the first `larger` shares have a step more
    const auto share_begins = [&](int block) { return block * share + min(block, larger); };
    const auto block_of = [&](int step) {
        const int in_larger = larger * (share + 1);
        return step < in_larger ? step / (share + 1) : larger + (step - in_larger) / share;
    };
    // What this block does next: steps `from` to `to` of a tile, none if `tile` is `tiles`.
    int at = blockIdx.x < sharers ? share_begins(blockIdx.x) : all;
    const int end = blockIdx.x < sharers ? share_begins(blockIdx.x + 1) : all;
    int whole = shared_tiles + blockIdx.x, tile, from, to, row0, col0;
    const auto next = [&] {
        if (at < end) {
            tile = at / steps, from = at % steps, to = min(steps, from + end - at);
            at += to - from;
        } else {
            tile = min(whole, tiles), from = 0, to = steps;
            whole += BLOCKS;
        }
        const int of_row = ROWS * across, first = tile / of_row * ROWS, rows = min(ROWS, down - first);
        if (tile < tiles) row0 = (first + tile % of_row % rows) * BM, col0 = tile % of_row / rows * BN;
    };
    next();

    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
    int stage = 0;
    if (warpgroup == WARPGROUPS) {
        // A's tile is read 8 threads a row, B's a warp a row: in PIECES of 16 and of 4 rows. While those of one tile
        // are split, those of the other are on their way.
        asm volatile("setmaxnreg.dec.sync.aligned.u32 104;");
        const int PIECES = 8;
        const int ar = thread / 8, ak = thread % 8 * 4, br = thread / 32, bc = thread % 32 * 4;
        Wide a[PIECES], b[PIECES];
        // A row of A's tile is 64 bytes, four times 16 of which number c is at c ^ (row / 2 % 4). A row of B's is twice
        // 128 bytes, the second half behind all rows of the first, and of its eight number c is at c ^ (row % 8). So
        // the same 16 bytes of 8 rows lie in different banks.
        char *const a_to = ring + ar * 64 + (ak / 8 ^ ar / 2 % 4) * 16 + ak % 8 * 2;
        char *const b_row = ring + 3 * A_PART + bc / 64 * (BK * 128) + br * 128 + bc % 8 * 2;
        char *b_to[2];  // for pieces of even and of odd number: rows br and br + 4 of eight
        for (int i = 0; i < 2; ++i) b_to[i] = b_row + (bc % 64 / 8 ^ (br + i * 4)) * 16;
        // Where the next piece is; how many rows there are from there on, and numbers in a row.
        const float *a_from, *b_from;
        int a_rows, a_left, b_rows, b_left;
        const auto begin = [&] {
            const int k0 = from * BK;
            a_from = A + (size_t)(row0 + ar) * K + k0 + ak;
            b_from = B + (size_t)(k0 + br) * N + col0 + bc;
            a_rows = tile < tiles ? M - row0 - ar : 0, a_left = K - k0 - ak;
            b_rows = K - k0 - br, b_left = N - col0 - bc;
        };
        const auto read_a = [&](int i) {
            a[i] = read<WIDE>(a_from, i * 16 < a_rows, a_left);
            a_from += i < PIECES - 1 ? (long long)16 * K : BK - (long long)16 * (PIECES - 1) * K;
        };
        const auto read_b = [&](int i) {
            b[i] = read<WIDE>(b_from, i * 4 < b_rows, b_left);
            b_from += (size_t)4 * N;
        };
        begin();
#pragma unroll
        for (int i = 0; i < PIECES; ++i) read_a(i);
        for (int phase = 1; tile < tiles;) {
            unsigned left = 0;
            wait(&empty[stage], phase);
#pragma unroll
            for (int i = 0; i < PIECES; ++i) {
                left |= split(a[i], a_to + stage * STAGE + i * 16 * 64, A_PART);
                read_b(i);
            }
            if (++from < to) a_left -= BK, b_rows -= BK;
            else {
                next();
                begin();
            }
#pragma unroll
            for (int i = 0; i < PIECES; ++i) {
                left |= split(b[i], b_to[i % 2] + stage * STAGE + i * 4 * 128, B_PART);
                read_a(i);
            }
            const bool any = __any_sync(0xffffffff, left != 0);
            if (thread % 32 == 0) (&inexact[stage].x)[thread / 32] = any;
            fence();
            arrive(&full[stage]);
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
    // Of the warpgroup's 64 rows a warp has 16; its threads 0 to 15 point to the first 8 ks of each, the others to the
    // next.
    const int a_row = warpgroup * 64 + thread / 32 * 16 + thread % 16, a_half = thread % 32 / 16;
    const unsigned a_at = shared_address(ring) + a_row * 64, b_at = shared_address(ring) + 3 * A_PART;
    for (int phase = 0; tile < tiles; next()) {
        float sum[64] = {};
        bool by_fma = K < FEW;
        for (int step = from; step < to; ++step) {
            float step_sum[64];
            unsigned a[3][BK / 16][4];
            const unsigned long long b = b_tile(b_at + stage * STAGE);
            wait(&full[stage], phase);
#pragma unroll
            for (int x = 2; x >= 0; --x)
#pragma unroll
                for (int k = 0; k < BK / 16; ++k)
                    load(a[x][k], a_at + stage * STAGE + x * A_PART + (k * 2 + a_half ^ a_row / 2 % 4) * 16);
            ready();
#pragma unroll
            for (int both = 4; both >= 0; --both)  // numbers of A's part and of B's: the smallest first
#pragma unroll
                for (int x = 2; x >= 0; --x)
#pragma unroll
                    for (int k = 0; k < BK / 16; ++k) {
                        const int y = both - x;
                        if (y < 0 || y > 2) continue;
                        multiply(step_sum, a[x][k], b + (y * B_PART + k * 16 * 128) / 16, both < 4 || k > 0);
                    }
            const int4 of = inexact[stage];
            by_fma |= of.x | of.y | of.z | of.w;
            finish(step_sum);
            __syncwarp();
            if (thread % 32 == 0) arrive(&empty[stage]);
#pragma unroll
            for (int i = 0; i < 64; ++i) sum[i] += step_sum[i];
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }

        // Of its warp's 16 rows a thread has two, 8 apart; of the columns two of every eight.
        const int row = row0 + warpgroup * 64 + thread / 32 * 16 + thread % 32 / 4, col = col0 + thread % 4 * 2;
        if (by_fma) {
            for (int i = 0; i < 64; ++i) sum[i] = 0;
#pragma unroll 1
            for (int k = from * BK; k < min(K, to * BK); ++k) {
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

        // As in `stream-k`, for each warpgroup by itself: TOGETHER parts of a tile are added up by whichever comes
        // last.
        bool is_last = true;
        if (to - from < steps) {
            const int head = block_of(tile * steps), tail = block_of((tile + 1) * steps - 1);
            const auto place = [&](int block) {
                return (2 * block + (share_begins(block) / steps == tile ? 0 : 1)) * WARPGROUPS + warpgroup;
            };
            const auto meet = [&] { asm volatile("bar.sync %0, 128;" : : "r"(1 + warpgroup) : "memory"); };
            int of = blockIdx.x, level = 0;  // `sum` is that of block `of` and of those up to `stride` further
            for (int stride = 1; is_last && head + stride <= tail; stride *= TOGETHER, ++level) {
                const int leader = head + (of - head) / (stride * TOGETHER) * (stride * TOGETHER);
                const int members = min(TOGETHER, (tail - leader) / stride + 1);
                float (*const mine)[128] = parts[place(of)];
#pragma unroll
                for (int i = 0; i < 64; ++i) mine[i][thread] = sum[i];
                __threadfence();
                meet();  // all of the warpgroup's sums are there before it is counted
                if (thread == 0) before[warpgroup] = atomicAdd(&arrived[level][place(leader)], 1);
                meet();
                is_last = before[warpgroup] == members - 1;
                if (!is_last) break;
                __threadfence();
                if (thread == 0) arrived[level][place(leader)] = 0;  // for the next launch
                for (int i = 0; i < 64; ++i) sum[i] = 0;
                for (int member = 0; member < members; ++member) {
                    float (*const part)[128] = parts[place(leader + member * stride)];
                    float more[64];
#pragma unroll
                    for (int i = 0; i < 64; ++i) more[i] = __ldcg(&part[i][thread]);
#pragma unroll
                    for (int i = 0; i < 64; ++i) sum[i] += more[i];
                }
                of = leader;
            }
        }
        if (!is_last) continue;

#pragma unroll
        for (int i = 0; i < 64; i += 2) {
            const int r = row + i / 2 % 2 * 8, c = col + i / 4 * 8;
            float *const target = &C[(size_t)r * N + c];
            if (r >= M || c >= N) continue;
            if (WIDE) *(float2 *)target = {sum[i], sum[i + 1]};
            else {
                target[0] = sum[i];
                if (c + 1 < N) target[1] = sum[i + 1];
            }
        }
    }
}

__global__ void __launch_bounds__(128 * (WARPGROUPS + 1))
bf16x9(int M, int N, int K, const float *A, const float *B, float *C) {
    if (N % 4 == 0 && K % 4 == 0) product<true>(M, N, K, A, B, C);
    else product<false>(M, N, K, A, B, C);
}

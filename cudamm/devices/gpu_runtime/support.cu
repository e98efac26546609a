// What cudamm itself runs on a GPU, beside the kernels it is asked about: to time them, to judge what they
// leave in memory, and to learn how fast the device can be at all.

typedef unsigned long long word64;

// ---- Timing -------------------------------------------------------------------------------------------

__device__ word64 nanoseconds() {
    word64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// Keeps a stream waiting until the host says go, so that events and launches queue up behind it and then
// follow one another without the host in between. One thread. The host may never come, where something
// makes each launch wait for the last: then it gives up, and says so.
extern "C" __global__ void hold(volatile int *go, volatile int *gave_up, word64 limit_ns) {
    const word64 start = nanoseconds();
    while (!*go) {
        if (nanoseconds() - start > limit_ns) {
            *gave_up = 1;
            return;
        }
    }
}

// Two events around it read what an event pair itself costs.
extern "C" __global__ void nothing() {}

// ---- The reference ------------------------------------------------------------------------------------

// The product in float64 of matrices of another type, which the host holds against a check of its own. Tiles
// through shared memory, as in `tiled`, and nothing more: float64 units are what limits it on most GPUs.
const int TILE = 32;

template <typename T>
__device__ void product(const T *a, const T *b, double *c, int m, int n, int k) {
    __shared__ double a_tile[TILE][TILE], b_tile[TILE][TILE];
    const int row = blockIdx.x * TILE + threadIdx.y, col = blockIdx.y * TILE + threadIdx.x;
    double sum = 0;
    for (int from = 0; from < k; from += TILE) {
        const int a_col = from + threadIdx.x, b_row = from + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < m && a_col < k ? a[(word64)row * k + a_col] : 0;
        b_tile[threadIdx.y][threadIdx.x] = b_row < k && col < n ? b[(word64)b_row * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[(word64)row * n + col] = sum;
}

extern "C" __global__ void product_float32(const float *a, const float *b, double *c, int m, int n, int k) {
    product(a, b, c, m, n, k);
}

extern "C" __global__ void product_int32(const int *a, const int *b, double *c, int m, int n, int k) {
    product(a, b, c, m, n, k);
}

// Times a vector: one warp a row.
extern "C" __global__ void times_vector(const double *matrix, const double *x, double *y, int rows, int cols) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    double sum = 0;
    for (int col = lane; col < cols; col += 32) sum += matrix[(word64)row * cols + col] * x[col];
    for (int distance = 16; distance; distance /= 2) sum += __shfl_down_sync(~0u, sum, distance);
    if (lane == 0) y[row] = sum;
}

// ---- Judging memory -----------------------------------------------------------------------------------

struct Found {
    word64 wrong;  // elements further from the reference than rounding explains
    word64 worst;  // error over bound as float bits, above the element's index
};

// Each element of C (rows x cols, the first `rows` and `cols` of a matrix with leading dimension ld) against
// a float64 reference, rows x cols without padding, and a bound that is a product: of a factor for its row and
// one for its column.
template <typename T>
__device__ void judge(const T *c, int ld, int rows, int cols, const double *reference, const double *of_rows,
                      const double *of_cols, Found *found) {
    const word64 count = (word64)rows * cols;
    word64 wrong = 0, worst = 0;
    for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < count; i += (word64)gridDim.x * blockDim.x) {
        const word64 row = i / cols, col = i % cols;
        const double error = fabs((double)c[row * ld + col] - reference[i]), bound = of_rows[row] * of_cols[col];
        const bool right = error <= bound;  // NaN is not
        wrong += !right;
        const float excess = error == 0 ? 0 : bound > 0 ? (float)(error / bound) : INFINITY;
        // The bits of floats that are not negative are ordered like the floats themselves.
        const word64 key = (word64)__float_as_uint(isnan(excess) ? INFINITY : excess) << 32 | (unsigned)i;
        worst = key > worst ? key : worst;
    }
    for (int lane = 16; lane; lane /= 2) {
        wrong += __shfl_down_sync(~0u, wrong, lane);
        const word64 other = __shfl_down_sync(~0u, worst, lane);
        worst = other > worst ? other : worst;
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&found->wrong, wrong);
        atomicMax(&found->worst, worst);
    }
}

extern "C" __global__ void judge_float32(const float *c, int ld, int rows, int cols, const double *reference,
                                         const double *of_rows, const double *of_cols, Found *found) {
    judge(c, ld, rows, cols, reference, of_rows, of_cols, found);
}

extern "C" __global__ void judge_int32(const int *c, int ld, int rows, int cols, const double *reference,
                                       const double *of_rows, const double *of_cols, Found *found) {
    judge(c, ld, rows, cols, reference, of_rows, of_cols, found);
}

// How many of some words are not what they should be: guards that were written to.
extern "C" __global__ void count_changed(const unsigned *words, word64 count, unsigned expected, word64 *changed) {
    word64 here = 0;
    for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < count; i += (word64)gridDim.x * blockDim.x)
        here += words[i] != expected;
    if (here) atomicAdd(changed, here);
}

// A number that changes when any of the words does: a sum, so that the order of threads does not matter, of
// each word mixed with its place.
extern "C" __global__ void fingerprint(const unsigned *words, word64 count, word64 *sum) {
    word64 here = 0;
    for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < count; i += (word64)gridDim.x * blockDim.x) {
        word64 mixed = (words[i] + 1) * 0x9E3779B97F4A7C15ull ^ i * 0xC2B2AE3D27D4EB4Full;
        mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9ull;
        here += mixed ^ mixed >> 32;
    }
    atomicAdd(sum, here);
}

// ---- Ceilings -----------------------------------------------------------------------------------------

// Nothing but fused multiply-adds, in eight sums a thread that do not wait for one another.
extern "C" __global__ void multiply_add(float *out, int steps, float factor) {
    float sum[8];
    for (int i = 0; i < 8; ++i) sum[i] = threadIdx.x + i;
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int repeat = 0; repeat < 16; ++repeat)
#pragma unroll
            for (int i = 0; i < 8; ++i) sum[i] = fmaf(sum[i], factor, 1.0f);
    }
    float total = 0;
    for (int i = 0; i < 8; ++i) total += sum[i];
    if (total == 12345.678f) *out = total;  // or the compiler would leave it all out
}

extern "C" __global__ void copy(const float4 *from, float4 *to, word64 count) {
    for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < count; i += (word64)gridDim.x * blockDim.x)
        to[i] = from[i];
}

// Kernels of cudamm itself on a GPU. They help to time the measured kernels, and to check the memory that those
// kernels write.

// ---- Timing -------------------------------------------------------------------------------------------

__device__ word64 nanoseconds() {
    word64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

// Holds a stream with one thread until the host sets `go`. Meanwhile the host queues events and launches, which
// then run one after the other without waiting for the host. If each launch waits for the previous one (a
// debugger or profiler may require that), the host cannot set `go`; the kernel ends after `limit_ns`, and sets
// `gave_up`.
extern "C" __global__ void hold(volatile int *go, volatile int *gave_up, word64 limit_ns) {
    const word64 start = nanoseconds();
    while (!*go) {
        if (nanoseconds() - start > limit_ns) {
            *gave_up = 1;
            return;
        }
    }
}

// Two events around this kernel measure the cost of an event pair.
extern "C" __global__ void empty() {}

// ---- Kernels that may start early ---------------------------------------------------------------------

__device__ void copy_bytes(const unsigned char *__restrict__ from, unsigned char *__restrict__ to, int size_bytes) {
    const int vectors = size_bytes / 16;
    for (int i = threadIdx.x; i < vectors; i += blockDim.x) ((uint4 *)to)[i] = ((const uint4 *)from)[i];
    for (int i = vectors * 16 + threadIdx.x; i < size_bytes; i += blockDim.x) to[i] = from[i];
}

// Copies the beginnings of A and of B to their places after a delay, and lets the next kernel of the stream start at
// once. A kernel that may start early, and reads A or B without waiting for this one, finds what lay there before.
extern "C" __global__ void write_late(const unsigned char *saved_A, unsigned char *A, int bytes_A,
                                      const unsigned char *saved_B, unsigned char *B, int bytes_B, word64 delay_ns) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
    const word64 start = nanoseconds();
    while (nanoseconds() - start < delay_ns) {}
    copy_bytes(saved_A, A, bytes_A);
    copy_bytes(saved_B, B, bytes_B);
}

// ---- The reference ------------------------------------------------------------------------------------

// Computes the float64 product of matrices of any type but float64; the host checks the product before it is used as a
// reference. Simple tiles in shared memory suffice: on most GPUs the float64 units are the bottleneck.
const int TILE = 32;

template <typename T>
__device__ void product(const T *a, const T *b, double *c, int m, int n, int k) {
    __shared__ double a_tile[TILE][TILE], b_tile[TILE][TILE];
    const int row = blockIdx.x * TILE + threadIdx.y, col = blockIdx.y * TILE + threadIdx.x;
    double sum = 0;
    for (int from = 0; from < k; from += TILE) {
        const int a_col = from + threadIdx.x, b_row = from + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < m && a_col < k ? to_double(a[(word64)row * k + a_col]) : 0;
        b_tile[threadIdx.y][threadIdx.x] = b_row < k && col < n ? to_double(b[(word64)b_row * n + col]) : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[(word64)row * n + col] = sum;
}

// Computes y = matrix * x, with one warp for each row.
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
    word64 wrong;  // number of elements whose error exceeds their bound
    word64 worst;  // upper half: the largest error / bound as float bits; lower half: that element's index
};

// Compares each element of C, the first `rows` and `cols` of a matrix with leading dimension ld, with a float64
// reference of rows x cols without padding. The bound on an element's error is the product of a factor of its
// row and a factor of its column, and the error of rounding the sum to T: a share of it, and at least `least`. If the
// bound is 0, the element has to be the reference, rounded to T.
template <typename T>
__device__ void judge(const T *c, int ld, int rows, int cols, const double *reference, const double *row_factors,
                      const double *col_factors, double rounding, double least, Found *found) {
    const word64 count = (word64)rows * cols;
    word64 wrong = 0, worst = 0;
    for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < count; i += (word64)gridDim.x * blockDim.x) {
        const word64 row = i / cols, col = i % cols;
        const double bound = row_factors[row] * col_factors[col] + rounding * fabs(reference[i]) + least;
        const double expected = bound == 0 ? nearest<T>(reference[i]) : reference[i];
        const double error = fabs(to_double(c[row * ld + col]) - expected);
        const bool right = error <= bound;  // false for NaN
        wrong += !right;
        const float excess = error == 0 ? 0 : bound > 0 ? (float)(error / bound) : INFINITY;
        // Non-negative floats are ordered like their bits.
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

#define PRODUCT_FOR(T, name)                                                                                        \
    extern "C" __global__ void product_##name(const T *a, const T *b, double *c, int m, int n, int k) {             \
        product(a, b, c, m, n, k);                                                                                  \
    }

#define REFERENCE_FOR(T, name)                                                                                      \
    PRODUCT_FOR(T, name)                                                                                            \
    extern "C" __global__ void judge_##name(const T *c, int ld, int rows, int cols, const double *reference,        \
                                            const double *row_factors, const double *col_factors, double rounding,  \
                                            double least, Found *found) {                                           \
        judge(c, ld, rows, cols, reference, row_factors, col_factors, rounding, least, found);                      \
    }

REFERENCE_FOR(float, float32)
REFERENCE_FOR(int, int32)
REFERENCE_FOR(__half, float16)
REFERENCE_FOR(__nv_bfloat16, bfloat16)
PRODUCT_FOR(__nv_fp8_e4m3, float8_e4m3)  // whose C is judged as bfloat16 or float32
PRODUCT_FOR(signed char, int8)            // whose C is judged as int32

// Counts the words that differ from `expected`, such as guards that a kernel overwrote.
extern "C" __global__ void count_changed(const unsigned *words, word64 count, unsigned expected, word64 *changed) {
    word64 partial = 0;
    for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < count; i += (word64)gridDim.x * blockDim.x)
        partial += words[i] != expected;
    if (partial) atomicAdd(changed, partial);
}

// Computes a hash that changes if any word changes. The hash is a sum, which does not depend on the order of
// threads, over each word mixed with its index.
extern "C" __global__ void fingerprint(const unsigned *words, word64 count, word64 *sum) {
    word64 partial = 0;
    for (word64 i = blockIdx.x * (word64)blockDim.x + threadIdx.x; i < count; i += (word64)gridDim.x * blockDim.x) {
        word64 mixed = (words[i] + 1) * 0x9E3779B97F4A7C15ull ^ i * 0xC2B2AE3D27D4EB4Full;
        mixed = (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9ull;
        partial += mixed ^ mixed >> 32;
    }
    atomicAdd(sum, partial);
}

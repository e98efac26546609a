// Kernels of cudamm itself that make inputs which no launch has seen, and judge the product of such a launch.

// ---- Random elements ----------------------------------------------------------------------------------

// Philox4x64-10: ten rounds of multiplications turn a counter and a key into four random words. Each thread makes
// its own, so nothing is kept between launches. The same generator as in `kernels/random_elements.py`.
struct Key {
    word64 first, second;
};

__device__ void philox(word64 counter, Key key, word64 (&words)[4]) {
    const word64 multiplier0 = 0xD2E7470EE14C6C93ull, multiplier1 = 0xCA5A826395121157ull;
    words[0] = counter;
    words[1] = words[2] = words[3] = 0;
    for (int round = 0; round < 10; ++round) {
        const word64 high0 = __umul64hi(multiplier0, words[0]), low0 = multiplier0 * words[0];
        const word64 high1 = __umul64hi(multiplier1, words[2]), low1 = multiplier1 * words[2];
        words[0] = high1 ^ words[1] ^ key.first;
        words[1] = low1;
        words[2] = high0 ^ words[3] ^ key.second;
        words[3] = low0;
        key.first += 0x9E3779B97F4A7C15ull;
        key.second += 0xBB67AE8584CAA73Bull;
    }
}

// Quantiles of the normal distribution, in multiples of 2^-12, which the host writes when the module is loaded.
__device__ short normal_quantiles[65536];

// A stream of random elements: see `ElementStream` in `kernels/random_elements.py`, which makes the same numbers.
enum Distribution { UNIFORM, NORMAL, INTEGERS };

struct Stream {
    Key key;
    int distribution;
    int largest;  // of whole numbers

    // Each of these makes an element of as many random bits as it has. Every result is exact, but for the rounding
    // of normal numbers, and of elements of 8 and 16 bits, to their type.
    __device__ int whole(word64 bits, int width) const { return (int)(bits * (2 * largest + 1) >> width) - largest; }

    __device__ void make(word64 bits, float &x) const {
        if (distribution == UNIFORM) x = (bits >> 8) * (2 / 16777216.0f) - 1;
        else if (distribution == INTEGERS) x = whole(bits, 32);
        else x = (float)(normal_quantiles[bits >> 16] * 65536 + (int)(bits & 0xFFFF) - 32768) * (1 / 268435456.0f);
    }

    __device__ void make(word64 bits, double &x) const {
        const long long one = 1ll << 48;
        if (distribution == UNIFORM) x = (bits >> 11) * (2 / 9007199254740992.0) - 1;
        else if (distribution == INTEGERS) x = whole(bits >> 32, 32);
        else x = (double)(normal_quantiles[bits >> 48] * one + (long long)(bits & one - 1) - one / 2) *
                 (1 / 1152921504606846976.0);
    }

    __device__ void make(word64 bits, int &x) const { x = whole(bits, 32); }
    __device__ void make(word64 bits, signed char &x) const { x = (signed char)whole(bits, 8); }

    template <typename T>
    __device__ void make(word64 bits, T &x) const {
        if (distribution == UNIFORM) x = T(bits * (2 / 65536.0f) - 1);
        else if (distribution == INTEGERS) x = T((float)whole(bits, 16));
        else x = T(normal_quantiles[bits] * (1 / 4096.0f));
    }

    // Of eight bits a quantile is the middle one of 256.
    __device__ void make(word64 bits, __nv_fp8_e4m3 &x) const {
        if (distribution == UNIFORM) x = __nv_fp8_e4m3(bits * (2 / 256.0f) - 1);
        else if (distribution == INTEGERS) x = __nv_fp8_e4m3((float)whole(bits, 8));
        else x = __nv_fp8_e4m3(normal_quantiles[bits << 8 | 0x80] * (1 / 4096.0f));
    }
};

// Makes the elements of one step of the generator: 32 bytes of them.
const int STEP_BYTES = 32;

template <typename T>
__device__ void elements_of(word64 step, Stream stream, T (&elements)[STEP_BYTES / sizeof(T)]) {
    const int each = sizeof(word64) / sizeof(T), width = 8 * sizeof(T);
    word64 words[4];
    philox(step + 1, stream.key, words);
    for (int i = 0; i < 4 * each; ++i)
        stream.make(words[i / each] >> width * (i % each) & ~0ull >> 64 - width, elements[i]);
}

// Fills memory with a stream of random elements. `bytes` is a multiple of STEP_BYTES.
template <typename T>
__device__ void draw(T *memory, word64 bytes, Stream stream) {
    const int each = STEP_BYTES / sizeof(T);
    const word64 threads = (word64)gridDim.x * blockDim.x;
    for (word64 step = blockIdx.x * (word64)blockDim.x + threadIdx.x; step < bytes / STEP_BYTES; step += threads) {
        T elements[each];
        elements_of(step, stream, elements);
        for (int i = 0; i < each; ++i) memory[step * each + i] = elements[i];
    }
}

// Counts the elements in memory that are not those of the stream: a launch has written into its inputs.
template <typename T>
__device__ void count_unlike(const T *memory, word64 bytes, Stream stream, word64 *unlike) {
    const int each = STEP_BYTES / sizeof(T);
    const word64 threads = (word64)gridDim.x * blockDim.x;
    word64 count = 0;
    for (word64 step = blockIdx.x * (word64)blockDim.x + threadIdx.x; step < bytes / STEP_BYTES; step += threads) {
        T elements[each];
        elements_of(step, stream, elements);
        for (int i = 0; i < each; ++i) count += !(to_double(memory[step * each + i]) == to_double(elements[i]));  // also for NaN
    }
    if (count) atomicAdd(unlike, count);
}

// ---- Judging rows of a product ------------------------------------------------------------------------

// A sum of products and the sum of their sizes. Products of float or int are exact in double.
template <typename T>
struct Sum {
    double value = 0, rest = 0, size = 0;  // `rest` stays 0

    __device__ void add(T a, T b) {
        const double term = to_double(a) * to_double(b);
        value += term;
        size += fabs(term);
    }
    __device__ void add_sum(double other, double) { value += other; }
    template <typename R>
    __device__ double error_of(R c) const { return fabs(to_double(c) - value); }
};

// For double the rounding error of each product and of each addition is kept too, which gives about twice the
// precision: T. Ogita, S. Rump and S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26 (2005), Dot2.
// The intrinsics keep the compiler from fusing a multiplication with an addition.
template <>
struct Sum<double> {
    double value = 0, rest = 0, size = 0;

    __device__ void add(double a, double b) {
        const double term = __dmul_rn(a, b);
        add_sum(term, fma(a, b, -term));
        size += fabs(term);
    }
    __device__ void add_sum(double other, double rest_of_other) {
        const double sum = __dadd_rn(value, other), shift = __dsub_rn(sum, value);
        const double error = __dadd_rn(__dsub_rn(value, __dsub_rn(sum, shift)), __dsub_rn(other, shift));
        rest = __dadd_rn(rest, __dadd_rn(rest_of_other, error));
        value = sum;
    }
    __device__ double error_of(double c) const { return fabs(__dsub_rn(__dsub_rn(c, value), rest)); }
};

// The distances, in elements, from an element to that of the next row and to that of the next column.
struct Strides {
    int row, column;
};

struct FoundRows {
    word64 wrong;  // number of elements whose error exceeds their bound
    word64 worst;  // upper half: the largest error / bound as float bits; lower half: that element's index
};

// Compares some rows of C (m x n) with sums of higher precision of the products of A's row and B's column. The
// bound on an element's error is `gamma` times the sum of the sizes of its products, and the error of rounding the
// sum to R: a share of it, and at least `least`. If the bound is 0, C has to be the exact sum, rounded to R. The
// index of an element is that in the chosen rows: position * n + column.
const int EDGE = 32;

template <typename T, typename R>
__device__ void judge_rows(const T *a, Strides a_strides, const T *b, Strides b_strides, const R *c,
                           Strides c_strides, const int *rows, int row_count, int n, int k, double gamma,
                           double rounding, double least, FoundRows *found) {
    __shared__ T a_tile[EDGE][EDGE], b_tile[EDGE][EDGE];
    const int position = blockIdx.y * EDGE + threadIdx.y, col = blockIdx.x * EDGE + threadIdx.x;
    const word64 row = position < row_count ? rows[position] : 0;
    Sum<T> sum;
    for (int from = 0; from < k; from += EDGE) {
        const int a_col = from + threadIdx.x, b_row = from + threadIdx.y;
        const bool has_a = position < row_count && a_col < k, has_b = b_row < k && col < n;
        a_tile[threadIdx.y][threadIdx.x] = has_a ? a[row * a_strides.row + (word64)a_col * a_strides.column] : T(0.0f);
        b_tile[threadIdx.y][threadIdx.x] =
            has_b ? b[(word64)b_row * b_strides.row + (word64)col * b_strides.column] : T(0.0f);
        __syncthreads();
        for (int i = 0; i < EDGE; ++i) sum.add(a_tile[threadIdx.y][i], b_tile[i][threadIdx.x]);
        __syncthreads();
    }
    word64 wrong = 0, worst = 0;
    if (position < row_count && col < n) {
        const double bound = gamma * sum.size + rounding * fabs(sum.value) + least;
        if (bound == 0) sum.value = nearest<R>(sum.value);
        const double error = sum.error_of(c[row * c_strides.row + (word64)col * c_strides.column]);
        wrong = !(error <= bound);  // also for NaN
        const float excess = error == 0 ? 0 : bound > 0 ? (float)(error / bound) : INFINITY;
        // Non-negative floats are ordered like their bits.
        const word64 bits = __float_as_uint(isnan(excess) ? INFINITY : excess);
        worst = bits << 32 | ((unsigned)position * (unsigned)n + (unsigned)col);
    }
    for (int lane = 16; lane; lane /= 2) {
        wrong += __shfl_down_sync(~0u, wrong, lane);
        const word64 other = __shfl_down_sync(~0u, worst, lane);
        worst = other > worst ? other : worst;
    }
    if (threadIdx.x == 0) {  // a row of the block is a warp
        atomicAdd(&found->wrong, wrong);
        atomicMax(&found->worst, worst);
    }
}

// ---- A matrix times a vector --------------------------------------------------------------------------

// Computes y = M x and the squares of the rows' Euclidean norms, with one warp for each row. With a random x, these
// are enough to see whether C is A B without computing the product: C x = A (B x).
template <typename T>
__device__ void times_vector(const T *matrix, Strides strides, const double *x, double *y, double *squares, int rows,
                             int cols) {
    const int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    double sum = 0, square = 0;
    for (int col = lane; col < cols; col += 32) {
        const double element = to_double(matrix[(word64)row * strides.row + (word64)col * strides.column]);
        sum += element * x[col];
        square += element * element;
    }
    for (int distance = 16; distance; distance /= 2) {
        sum += __shfl_down_sync(~0u, sum, distance);
        square += __shfl_down_sync(~0u, square, distance);
    }
    if (lane == 0) {
        y[row] = sum;
        squares[row] = square;
    }
}

// ---- A sample of a product ----------------------------------------------------------------------------

// Writes some elements of C (count of them, row by row), then the high and the low parts of their sums of higher
// precision, and the sums of their squared products: 4 x count numbers for the host, which finds the precision of C.
// Each warp adds up one element after the other, and each of its lanes every 32nd product.
template <typename T, typename R>
__device__ void sample_product(const T *a, Strides a_strides, const T *b, Strides b_strides, const R *c,
                               Strides c_strides, const int *rows, int row_count, const int *columns,
                               int column_count, int k, double *sampled) {
    const int lane = threadIdx.x % 32, count = row_count * column_count;
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
    for (int i = first; i < count; i += warps) {
        const word64 row = rows[i / column_count], column = columns[i % column_count];
        Sum<T> sum;
        double squares = 0;
        for (word64 step = lane; step < k; step += 32) {
            const T x = a[row * a_strides.row + step * a_strides.column];
            const T y = b[step * b_strides.row + column * b_strides.column];
            const double term = to_double(x) * to_double(y);
            sum.add(x, y);
            squares += term * term;
        }
        for (int distance = 16; distance; distance /= 2) {
            sum.add_sum(__shfl_down_sync(~0u, sum.value, distance), __shfl_down_sync(~0u, sum.rest, distance));
            squares += __shfl_down_sync(~0u, squares, distance);
        }
        if (lane == 0) {
            sampled[i] = to_double(c[row * c_strides.row + column * c_strides.column]);
            sampled[count + i] = sum.value;
            sampled[2 * count + i] = sum.rest;
            sampled[3 * count + i] = squares;
        }
    }
}

// ---- The kernels, for one element type ----------------------------------------------------------------

// nvcc gets the types as options: that of the elements of A and B, and that of the elements of C.
typedef ELEMENT Element;
typedef RESULT Result;

extern "C" __global__ void draw(Element *memory, word64 bytes, word64 first, word64 second, int distribution,
                                int largest) {
    draw(memory, bytes, Stream{{first, second}, distribution, largest});
}

extern "C" __global__ void count_unlike(const Element *memory, word64 bytes, word64 first, word64 second,
                                        int distribution, int largest, word64 *unlike) {
    count_unlike(memory, bytes, Stream{{first, second}, distribution, largest}, unlike);
}

extern "C" __global__ void judge_rows(const Element *a, int a_row, int a_column, const Element *b, int b_row,
                                      int b_column, const Result *c, int c_row, int c_column, const int *rows,
                                      int row_count, int n, int k, double gamma, double rounding, double least,
                                      FoundRows *found) {
    judge_rows(a, Strides{a_row, a_column}, b, Strides{b_row, b_column}, c, Strides{c_row, c_column}, rows,
               row_count, n, k, gamma, rounding, least, found);
}

extern "C" __global__ void input_times_vector(const Element *matrix, int row, int column, const double *x, double *y,
                                              double *squares, int rows, int cols) {
    times_vector(matrix, Strides{row, column}, x, y, squares, rows, cols);
}

extern "C" __global__ void result_times_vector(const Result *matrix, int row, int column, const double *x, double *y,
                                               double *squares, int rows, int cols) {
    times_vector(matrix, Strides{row, column}, x, y, squares, rows, cols);
}

extern "C" __global__ void sample_product(const Element *a, int a_row, int a_column, const Element *b, int b_row,
                                          int b_column, const Result *c, int c_row, int c_column, const int *rows,
                                          int row_count, const int *columns, int column_count, int k,
                                          double *sampled) {
    sample_product(a, Strides{a_row, a_column}, b, Strides{b_row, b_column}, c, Strides{c_row, c_column}, rows,
                   row_count, columns, column_count, k, sampled);
}

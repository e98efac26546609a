// Kernels of cudamm itself that measure the peaks of the other units and types: of fused multiply-adds in float64, and of
// tensor cores in each type that the architecture has.
//
// `ceilings.cu`, whose functions they call, is compiled before this file. The kernels load nothing from global memory.
// Each warp has several independent sums, or its instructions run asynchronously. `gpu_ceilings.py` contains the number
// of operations of a step.

extern "C" __global__ void multiply_add_float64(double *out, int steps, float factor) {
    multiply_add(out, steps, double(factor));
}

// ---- Tensor cores -------------------------------------------------------------------------------------

enum Type { FLOAT16, BFLOAT16, TF32, E4M3 };

// Returns numbers between 0.5 and 1 of any sign that fill 32 bits: two of 16 bits, one of tf32, or four of e4m3. The
// power of tensor cores, and so their clock, depends on the bits that change.
template <Type TYPE>
__device__ unsigned some_numbers(unsigned seed, float factor) {
    unsigned bits = (seed + __float_as_uint(factor)) * 0x9E3779B9u;
    bits = (bits ^ bits >> 15) * 0x85EBCA6Bu;
    bits ^= bits >> 13;
    if (TYPE == FLOAT16) return (bits & 0x83FF83FF) | 0x38003800;
    if (TYPE == BFLOAT16) return (bits & 0x807F807F) | 0x3F003F00;
    if (TYPE == TF32) return (bits & 0x807FE000) | 0x3F000000;
    return (bits & 0x87878787) | 0x30303030;
}

#if __CUDA_ARCH__ / 100 == 8 || __CUDA_ARCH__ / 100 == 12

// mma.sync has e4m3 from sm_89 on, and ptxas knows it from CUDA 12.4 on.
#define MMA_HAS_E4M3 (__CUDA_ARCH__ >= 890 && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204)

template <Type TYPE>
__device__ void mma(float *out, int steps, float factor) {
    float sums[8][4] = {};
    unsigned a[4], b[8][2];
    for (int i = 0; i < 4; ++i) a[i] = some_numbers<TYPE>(threadIdx.x * 4 + i, factor);
    for (int i = 0; i < 16; ++i) b[i / 2][i % 2] = some_numbers<TYPE>(4096 + threadIdx.x * 16 + i, factor);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#define MMA(shape, name)                                                                                             \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." name "." name ".f32 "                                     \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                   \
                 : "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[i][0]), "r"(b[i][1]))
#pragma unroll
        for (int repeat = 0; repeat < 4; ++repeat)
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                if (TYPE == FLOAT16) MMA("m16n8k16", "f16");
                if (TYPE == BFLOAT16) MMA("m16n8k16", "bf16");
                if (TYPE == TF32) MMA("m16n8k8", "tf32");
#if MMA_HAS_E4M3
                if (TYPE == E4M3) MMA("m16n8k32", "e4m3");
#endif
            }
    }
    float total = 0;
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 4; ++j) total += sums[i][j];
    use(total, out);
}

extern "C" __global__ void mma_float16(float *out, int steps, float factor) { mma<FLOAT16>(out, steps, factor); }
extern "C" __global__ void mma_bfloat16(float *out, int steps, float factor) { mma<BFLOAT16>(out, steps, factor); }
extern "C" __global__ void mma_tf32(float *out, int steps, float factor) { mma<TF32>(out, steps, factor); }
#if MMA_HAS_E4M3
extern "C" __global__ void mma_float8_e4m3(float *out, int steps, float factor) { mma<E4M3>(out, steps, factor); }
#endif

#endif
#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900

extern "C" __global__ void mma_float64(double *out, int steps, float factor) {
    double sums[8][2] = {}, b[8];
    const double a = factor + threadIdx.x / 1024.;
    for (int i = 0; i < 8; ++i) b[i] = factor - (threadIdx.x + i) / 1024.;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int repeat = 0; repeat < 4; ++repeat)
#pragma unroll
            for (int i = 0; i < 8; ++i)
                asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                             : "+d"(sums[i][0]), "+d"(sums[i][1]) : "d"(a), "d"(b[i]));
    }
    double total = 0;
    for (int i = 0; i < 8; ++i) total += sums[i][0] + sums[i][1];
    use(total, out);
}

#endif
#if __CUDA_ARCH__ == 900

// The larger instruction of sm_90 for float64.
extern "C" __global__ void large_mma_float64(double *out, int steps, float factor) {
    double sums[4][4] = {}, a[8], b[4][4];
    for (int i = 0; i < 8; ++i) a[i] = factor + (threadIdx.x + i) / 1024.;
    for (int i = 0; i < 16; ++i) b[i / 4][i % 4] = factor - (threadIdx.x + i) / 1024.;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int repeat = 0; repeat < 4; ++repeat)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                             "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                             : "+d"(sums[i][0]), "+d"(sums[i][1]), "+d"(sums[i][2]), "+d"(sums[i][3])
                             : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]),
                               "d"(a[7]), "d"(b[i][0]), "d"(b[i][1]), "d"(b[i][2]), "d"(b[i][3]));
    }
    double total = 0;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) total += sums[i][j];
    use(total, out);
}

// On sm_90 only wgmma, which reads its factors from shared memory, reaches the full rate of the tensor cores. A
// warpgroup of four warps multiplies 64 rows by 256 columns at a time, each of 32 bytes. The instructions run asynchronously, 16
// in a row. While a warpgroup waits for its last one, the other warpgroup of the block keeps the tensor cores busy.
const int WGMMAS = 16;
const int ROW_WORDS = 32 / 4;  // of a row of A, and of a column of B

// Returns the descriptor of a matrix that lies in shared memory in pieces of 8 rows of 16 bytes, the two pieces of a
// row one after the other.
__device__ unsigned long long descriptor(const void *matrix) {
    return 256ull / 16 << 32 | 128 / 16 << 16 | __cvta_generic_to_shared(matrix) / 16;
}

#define EIGHT(i)                                                                                                     \
    "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), "+f"(sums[i + 4]), "+f"(sums[i + 5]),    \
        "+f"(sums[i + 6]), "+f"(sums[i + 7])

// 16-bit types have two more arguments: neither matrix is transposed.
#define WGMMA(shape, name, arguments)                                                                                \
    asm volatile("wgmma.mma_async.sync.aligned.m64n256" shape ".f32." name "." name " "                              \
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                           \
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                  \
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                  \
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "                  \
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "                  \
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "                  \
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "      \
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, " \
                 "%128, %129, 1, 1, 1" arguments ";"                                                                 \
                 : EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56), EIGHT(64),  \
                   EIGHT(72), EIGHT(80), EIGHT(88), EIGHT(96), EIGHT(104), EIGHT(112), EIGHT(120)                    \
                 : "l"(a), "l"(b))

template <Type TYPE>
__device__ void wgmma(float *out, int steps, float factor) {
    __shared__ __align__(128) unsigned a_matrices[2][64 * ROW_WORDS], b_matrices[2][256 * ROW_WORDS];
    const int warpgroup = threadIdx.x / 128;
    for (int i = threadIdx.x; i < 2 * 64 * ROW_WORDS; i += blockDim.x)
        (&a_matrices[0][0])[i] = some_numbers<TYPE>(i, factor);
    for (int i = threadIdx.x; i < 2 * 256 * ROW_WORDS; i += blockDim.x)
        (&b_matrices[0][0])[i] = some_numbers<TYPE>(4096 + i, factor);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // makes the matrices visible to the tensor cores
    __syncthreads();
    const unsigned long long a = descriptor(a_matrices[warpgroup]), b = descriptor(b_matrices[warpgroup]);
    float sums[128] = {};
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < WGMMAS; ++i) {
            if (TYPE == FLOAT16) WGMMA("k16", "f16", ", 0, 0");
            if (TYPE == BFLOAT16) WGMMA("k16", "bf16", ", 0, 0");
            if (TYPE == TF32) WGMMA("k8", "tf32", "");
            if (TYPE == E4M3) WGMMA("k32", "e4m3", "");
        }
        asm volatile("wgmma.commit_group.sync.aligned;\n"
                     "wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    float total = 0;
    for (int i = 0; i < 128; ++i) total += sums[i];
    use(total, out);
}

extern "C" __global__ void __launch_bounds__(256, 1) wgmma_float16(float *out, int steps, float factor) {
    wgmma<FLOAT16>(out, steps, factor);
}
extern "C" __global__ void __launch_bounds__(256, 1) wgmma_bfloat16(float *out, int steps, float factor) {
    wgmma<BFLOAT16>(out, steps, factor);
}
extern "C" __global__ void __launch_bounds__(256, 1) wgmma_tf32(float *out, int steps, float factor) {
    wgmma<TF32>(out, steps, factor);
}
extern "C" __global__ void __launch_bounds__(256, 1) wgmma_float8_e4m3(float *out, int steps, float factor) {
    wgmma<E4M3>(out, steps, factor);
}

#endif

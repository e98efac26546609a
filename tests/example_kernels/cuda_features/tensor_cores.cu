// Which 16-bit numbers and operations of tensor cores work; CHECK writes 1 to the row of C with its line number.
//
// types:   int32
// args:    C
// threads: 64
// grid:    1

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>

#define CHECK(value, expected)                                                            \
    do {                                                                                  \
        C[64 * __LINE__ + t] = (long long)(value) == (long long)(expected) ? 1 : 2;       \
        __syncthreads();                                                                  \
    } while (0)
#define THOUSANDTHS(x) (int)(1000 * (x) + ((x) < 0 ? -0.5 : 0.5))

namespace wmma = nvcuda::wmma;

// The factors of all products here: whole numbers, so that every sum is exact in every type.
__device__ int a_at(int row, int k) { return (row + 2 * k) % 5 - 2; }
__device__ int b_at(int k, int column) { return (3 * k + column) % 7 - 3; }
__device__ int product_at(int row, int column, int count) {
    int sum = 0;
    for (int k = 0; k < count; ++k) sum += a_at(row, k) * b_at(k, column);
    return sum;
}

template <class T> struct InMemory { typedef T type; };
template <> struct InMemory<wmma::precision::tf32> { typedef float type; };

// Returns whether a product with wmma is right, with each matrix stored by rows or by columns.
template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB>
__device__ bool is_right(char *memory, wmma::layout_t layout) {
    typedef typename InMemory<T>::type Stored;
    const int lane = threadIdx.x % 32;
    Stored *const a = (Stored *)memory, *const b = (Stored *)(memory + 4096);
    Sum *const c = (Sum *)(memory + 8192);
    const bool a_by_rows = std::is_same<LayoutA, wmma::row_major>::value;
    const bool b_by_rows = std::is_same<LayoutB, wmma::row_major>::value, c_by_rows = layout == wmma::mem_row_major;
    const int unit = 16 / (int)sizeof(Stored);  // a leading dimension is a multiple of 16 bytes
    const int lda = ((a_by_rows ? K : M) / unit + 1) * unit, ldb = ((b_by_rows ? N : K) / unit + 1) * unit;
    const int ldc = (c_by_rows ? N : M) + 16 / (int)sizeof(Sum);
    __syncwarp();
    for (int i = lane; i < M * K; i += 32)
        a[a_by_rows ? i / K * lda + i % K : i % K * lda + i / K] = (Stored)(float)a_at(i / K, i % K);
    for (int i = lane; i < K * N; i += 32)
        b[b_by_rows ? i / N * ldb + i % N : i % N * ldb + i / N] = (Stored)(float)b_at(i / N, i % N);
    for (int i = lane; i < M * N; i += 32)
        c[c_by_rows ? i / N * ldc + i % N : i % N * ldc + i / N] = (Sum)(float)(i % 9);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> fc, twice;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, layout);
    wmma::fill_fragment(twice, 0);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) twice.x[i] = twice.x[i] + fc.x[i] + fc.x[i];
    __syncwarp();
    wmma::store_matrix_sync(c, twice, ldc, layout);
    __syncwarp();
    bool right = fa.num_elements * 32 >= M * K && fc.num_elements * 32 == M * N;
    for (int i = lane; i < M * N; i += 32) {
        const int found = (int)(float)c[c_by_rows ? i / N * ldc + i % N : i % N * ldc + i / N];
        right = right && found == 2 * (product_at(i / N, i % N, K) + i % 9);
    }
    return right;
}
template <int M, int N, int K, class T, class Sum>
__device__ bool is_right_in_every_layout(char *memory) {
    using wmma::col_major;
    using wmma::row_major;
    const bool rows = is_right<M, N, K, T, Sum, row_major, row_major>(memory, wmma::mem_row_major);
    const bool columns = is_right<M, N, K, T, Sum, col_major, col_major>(memory, wmma::mem_col_major);
    const bool mixed = is_right<M, N, K, T, Sum, row_major, col_major>(memory, wmma::mem_row_major);
    return rows && columns && mixed;
}

__device__ unsigned address_of(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned both(half2 pair) { return *(unsigned *)&pair; }
__device__ unsigned both(__nv_bfloat162 pair) { return *(unsigned *)&pair; }
__device__ unsigned halves(float x, float y) { return both(__floats2half2_rn(x, y)); }
__device__ unsigned bfloats(float x, float y) { return both(__floats2bfloat162_rn(x, y)); }
__device__ unsigned four_bytes(int a, int b, int c, int d) {
    return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24;
}
__device__ unsigned tf32(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

__global__ void tensor_cores(int *C) {
    const int t = threadIdx.x, lane = t % 32;
    const int group = lane / 4, in_group = lane % 4;  // "groupID" and "threadID_in_group" of the PTX ISA
    __shared__ half pool[64], sums[2];
    __shared__ __nv_bfloat16 wide_pool[64];
    __shared__ half2 pairs[64];

    // feature: Half precision: `__half` and `__half2`, their operators and conversions, `__hadd`, `__hfma2`, `__hlt`, `hexp`, `__shfl_sync`, `atomicAdd`, …
    half x = 1.5f, y = __float2half(t);
    x += 1;
    x *= y;
    CHECK((float)(x - y) * 2, 3 * t);
    CHECK((int)x + (x > y) + (-x < y ? 10 : 0), (int)(2.5f * t) + (t > 0) + (t > 0 ? 10 : 0));
    CHECK(__half_as_ushort(__hfma(x, y, __float2half(0.5f))) != 0x3800, t > 0);
    const half2 pair = __halves2half2(y, __int2half_rn(3)), product = __hmul2(pair, __half2half2(__double2half(2.0)));
    const float2 both_floats = __half22float2(__hfma2(pair, product, pair + pair));
    CHECK(both_floats.x + both_floats.y, 2 * t * t + 2 * t + 24);
    const half added = __hadd(__low2half(pair), __high2half(pair));
    CHECK(__low2float(product) + __high2float(product) + __half2float(added), 3 * t + 9);
    CHECK(sizeof(half) + alignof(half) + sizeof(half2) + alignof(half2), 12);
    CHECK(__hlt(y, x) + 2 * __heq(y, y) + 4 * __hisnan(hlog(__float2half(-1))) + 8 * __hbge2(pair, pair), (t > 0) + 14);
    CHECK(THOUSANDTHS(__half2float(hsqrt(__float2half(2)))), 1414);
    CHECK(__heq2_mask(pair, __half2half2(y)), t == 3 ? ~0u : 0xffffu);
    CHECK(__hbltu2(pair, h2exp(__half2half2(__float2half(9)))) + (int)h2rint(__floats2half2_rn(2.5f, 3.5f)).y, 5);
    CHECK((float)__int2half_ru(2049) + (float)__ll2half_rd(-2051) + (float)__uint2half_rz(4095), 2050 - 2052 + 4094);
    CHECK((float)__hmax(y, __float2half(9)) + (float)__habs(-y), (t > 9 ? t : 9) + t);
    pool[t] = y;
    pairs[t] = __float22half2_rn(make_float2(t, -t));
    if (t < 2) sums[t] = 0;
    __syncthreads();
    CHECK((float)pool[t ^ 1] + (float)pairs[63 - t].y, (t ^ 1) - (63 - t));
    const half of_neighbour = __shfl_xor_sync(0xffffffffu, y, 1);
    CHECK((float)of_neighbour + (float)__shfl_sync(0xffffffffu, pairs[t], 2).x, (t ^ 1) + t / 32 * 32 + 2);
    atomicAdd(&sums[0], __float2half(0.5f));
    atomicAdd(&pairs[3], __floats2half2_rn(1, 2));
    __syncthreads();
    CHECK((float)sums[0] + (float)pairs[3].x + (float)pairs[3].y, 32 + 3 + 64 - 3 + 128);
    CHECK((float)*(const half *)&((const uint4 *)pool)[t / 8], t / 8 * 8);

    // feature: bfloat16: `__nv_bfloat16` and `__nv_bfloat162`, as half precision
    __nv_bfloat16 v = __float2bfloat16(t), w = 0.25f;
    wide_pool[t] = v * w;
    __syncthreads();
    CHECK(__bfloat162float(wide_pool[63 - t]) * 4, 63 - t);
    CHECK((float)(v + w) > (float)v || t > 31, 1);
    const __nv_bfloat162 wide_pair = __halves2bfloat162(v, __float2bfloat16(2));
    const float2 wide_floats = __bfloat1622float2(__hfma2(wide_pair, wide_pair, __bfloat162bfloat162(w)));
    CHECK(wide_floats.x >= 0.99f * t * t && wide_floats.y == 4.25f, 1);
    CHECK(__bfloat16_as_ushort(__hneg(w)), 0xbe80);
    CHECK((float)__nv_bfloat16(3e38f) > 2e38f && __hisinf((half)3e38f), 1);

    // feature: float8: `__nv_fp8_e4m3`, converted from and to float, double, half and bfloat16
    __shared__ __nv_fp8_e4m3 small_pool[64];
    small_pool[t] = __nv_fp8_e4m3(t % 16 / 2.0f);
    __syncthreads();
    CHECK((float)small_pool[63 - t] * 2, 15 - t % 16);
    CHECK((float)__nv_fp8_e4m3(8.5f) == 8 && (float)__nv_fp8_e4m3(9.5f) == 10, 1);  // a tie goes to the even digit
    CHECK((double)__nv_fp8_e4m3(-1000.0) == -448 && (float)__nv_fp8_e4m3(half(0.75f)) == 0.75f, 1);
    CHECK((float)(__nv_bfloat16)__nv_fp8_e4m3(__nv_bfloat16(3.5f)) == 3.5f, 1);

    // feature: Tensor cores: `nvcuda::wmma` with half, bfloat16, TF32, double and 8-bit whole numbers
    __shared__ alignas(32) char memory[2][14000];
    CHECK((is_right_in_every_layout<16, 16, 16, half, float>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<16, 16, 16, half, half>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<32, 8, 16, half, float>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<8, 32, 16, half, float>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<16, 16, 16, __nv_bfloat16, float>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<32, 8, 16, __nv_bfloat16, float>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<8, 32, 16, __nv_bfloat16, float>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<16, 16, 8, wmma::precision::tf32, float>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<8, 8, 4, double, double>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<16, 16, 16, signed char, int>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<32, 8, 16, signed char, int>(memory[t / 32])), 1);
    CHECK((is_right_in_every_layout<8, 32, 16, signed char, int>(memory[t / 32])), 1);
    CHECK(wmma::__float_to_tf32(1.0f + 1.0f / 2048) == 1.0f + 1.0f / 1024, 1);

    // feature: Inline PTX: `ldmatrix` of one, two and four matrices, also transposed
    __shared__ alignas(16) unsigned short numbers[2][4][8][8];
    for (int i = 0; i < 8; ++i) numbers[t / 32][lane / 8][lane % 8][i] = 64 * (lane / 8) + 8 * (lane % 8) + i;
    __syncwarp();
    const unsigned row = address_of(numbers[t / 32][lane / 8][lane % 8]);
    unsigned parts[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(parts[0]) : "r"(row));
    CHECK(parts[0], (8 * group + 2 * in_group) * 0x10001 + 0x10000);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 {%0, %1}, [%2];"
                 : "=r"(parts[0]), "=r"(parts[1]) : "r"(row));
    CHECK(parts[0] == (8 * 2 * in_group + group) * 0x10001u + 0x80000u && parts[1] == parts[0] + 0x400040u, 1);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3]) : "r"(row));
    CHECK(parts[3] - parts[1], 0x800080);
    CHECK(parts[2] & 0xffff, 128 + 8 * group + 2 * in_group);

    // feature: Inline PTX: `mma.sync` with `.f16`, `.bf16`, `.tf32`, `.f64` and 8-bit whole numbers
    // The elements of fragments, by the formulas of the PTX ISA. C[i] of an m16n8 product:
    const int column = 2 * in_group;
#define A16(i) a_at(group + ((i) % 4 < 2 ? 0 : 8), in_group * 2 + ((i) & 1) + ((i) < 4 ? 0 : 8))
#define B16(i) b_at(in_group * 2 + ((i) & 1) + ((i) < 2 ? 0 : 8), group)
#define IS_RIGHT(d0, d1, d2, d3, count)                                                                            \
    ((d0) == product_at(group, column, count) + 5 && (d1) == product_at(group, column + 1, count) + 6 &&           \
     (d2) == product_at(group + 8, column, count) + 7 && (d3) == product_at(group + 8, column + 1, count) + 8)
    float d[4] = {5, 6, 7, 8};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(halves(A16(0), A16(1))), "r"(halves(A16(2), A16(3))), "r"(halves(A16(4), A16(5))),
                   "r"(halves(A16(6), A16(7))), "r"(halves(B16(0), B16(1))), "r"(halves(B16(2), B16(3))));
    CHECK(IS_RIGHT(d[0], d[1], d[2], d[3], 16), 1);
    float e[4];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};" : "=f"(e[0]), "=f"(e[1]), "=f"(e[2]), "=f"(e[3])
                 : "r"(bfloats(A16(0), A16(1))), "r"(bfloats(A16(2), A16(3))), "r"(bfloats(A16(4), A16(5))),
                   "r"(bfloats(A16(6), A16(7))), "r"(bfloats(B16(0), B16(1))), "r"(bfloats(B16(2), B16(3))),
                   "f"(5.0f), "f"(6.0f), "f"(7.0f), "f"(8.0f));
    CHECK(IS_RIGHT(e[0], e[1], e[2], e[3], 16), 1);
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
                 : "=f"(e[0]), "=f"(e[1]), "=f"(e[2]), "=f"(e[3])
                 : "r"(halves(A16(0), A16(1))), "r"(halves(A16(2), A16(3))), "r"(halves(B16(0), B16(1))),
                   "f"(5.0f), "f"(6.0f), "f"(7.0f), "f"(8.0f));
    CHECK(IS_RIGHT(e[0], e[1], e[2], e[3], 8), 1);
    unsigned p[2];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
                 : "=r"(p[0]), "=r"(p[1])
                 : "r"(halves(A16(0), A16(1))), "r"(halves(A16(2), A16(3))), "r"(halves(A16(4), A16(5))),
                   "r"(halves(A16(6), A16(7))), "r"(halves(B16(0), B16(1))), "r"(halves(B16(2), B16(3))),
                   "r"(halves(5, 6)), "r"(halves(7, 8)));
    const float2 upper = __half22float2(*(half2 *)&p[0]), lower = __half22float2(*(half2 *)&p[1]);
    CHECK(IS_RIGHT(upper.x, upper.y, lower.x, lower.y, 16), 1);
#define A32(i) tf32(a_at(group + 8 * ((i) & 1), in_group + ((i) < 2 ? 0 : 4)))
#define B32(i) tf32(b_at(in_group + 4 * (i), group))
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};" : "=f"(e[0]), "=f"(e[1]), "=f"(e[2]), "=f"(e[3])
                 : "r"(A32(0)), "r"(A32(1)), "r"(A32(2)), "r"(A32(3)), "r"(B32(0)), "r"(B32(1)), "f"(5.0f), "f"(6.0f),
                   "f"(7.0f), "f"(8.0f));
    CHECK(IS_RIGHT(e[0], e[1], e[2], e[3], 8), 1);
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                 "{%7, %8, %9, %10};" : "=f"(e[0]), "=f"(e[1]), "=f"(e[2]), "=f"(e[3])
                 : "r"(A32(0)), "r"(A32(1)), "r"(B32(0)), "f"(5.0f), "f"(6.0f), "f"(7.0f), "f"(8.0f));
    CHECK(IS_RIGHT(e[0], e[1], e[2], e[3], 4), 1);
    double q[2];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
                 : "=d"(q[0]), "=d"(q[1])
                 : "d"((double)a_at(group, in_group)), "d"((double)b_at(in_group, group)), "d"(5.0), "d"(6.0));
    CHECK(q[0] == product_at(group, column, 4) + 5 && q[1] == product_at(group, column + 1, 4) + 6, 1);
#define A8(row, k) four_bytes(a_at(row, k), a_at(row, (k) + 1), a_at(row, (k) + 2), a_at(row, (k) + 3))
#define B8(k) four_bytes(b_at(k, group), b_at((k) + 1, group), b_at((k) + 2, group), b_at((k) + 3, group))
    int s[4];
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%10, %11, %12, %13};" : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3])
                 : "r"(A8(group, 4 * in_group)), "r"(A8(group + 8, 4 * in_group)), "r"(A8(group, 4 * in_group + 16)),
                   "r"(A8(group + 8, 4 * in_group + 16)), "r"(B8(4 * in_group)), "r"(B8(4 * in_group + 16)), "r"(5),
                   "r"(6), "r"(7), "r"(8));
    CHECK(IS_RIGHT(s[0], s[1], s[2], s[3], 32), 1);

    // feature: Inline PTX: `cvt` to and from `.f16`, `.bf16`, `.tf32`, and arithmetic with `.f16`, `.f16x2`, `.bf16`, `.bf16x2`
    unsigned short h;
    float f;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(t + 0.5f));
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    CHECK(2 * f, 2 * t + 1);
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p[0]) : "f"(1.0f), "f"(2.0f));
    CHECK(p[0], 0x3c004000);
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(p[0]) : "f"(1.0f), "f"(2.0f));
    CHECK(p[0], 0x3f804000);
    asm("{ .reg .f16 x; cvt.rn.f16.f32 x, %1; add.f16 %0, x, x; }" : "=h"(h) : "f"(3.0f));
    CHECK(h, 0x4600);
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(p[0]) : "r"(halves(2, 3)), "r"(halves(4, 5)), "r"(halves(1, -1)));
    CHECK(p[0] == halves(9, 14), 1);
    asm("fma.rn.bf16x2 %0, %1, %2, %1; neg.bf16x2 %0, %0; max.bf16x2 %0, %0, %1;"
        : "=&r"(p[0]) : "r"(bfloats(2, -3)), "r"(bfloats(4, 4)));
    CHECK(p[0] == bfloats(2, 15), 1);
    CHECK(tf32(1.0f + 1.0f / 2048), 0x3f802000);
}

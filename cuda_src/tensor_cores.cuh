// The instructions of tensor cores behind named functions, for the methods that use them.
//
// One instruction multiplies small matrices for a whole warp. No lane has a whole matrix: each lane holds a share of
// each, its *fragment*, in registers; two 16-bit elements share a register of 32 bits. All lanes of the warp execute
// the instruction together.

#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Loads four matrices of 8 x 8 elements from shared memory. Lane i passes the address of 8 neighbouring elements, one
// row: lanes 0 to 7 those of the first matrix, lanes 8 to 15 those of the second, and so on. Each lane receives from
// every matrix the elements 2 (i % 4) and 2 (i % 4) + 1 of row i / 4: what `multiply_add` expects of A.
__device__ __forceinline__ void load_matrices(unsigned (&parts)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// The same for the transposed matrices: what `multiply_add` expects of B, if B's rows lie in shared memory row by row.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&parts)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
                 : "r"((unsigned)__cvta_generic_to_shared(row)) : "memory");
}

// Adds the product of A (16 x 16) and B (16 x 8) to the sums (16 x 8), which are float. Lane i holds
//   of A:     four parts: the matrices of rows 0 to 7 and 8 to 15, first of columns 0 to 7, then of columns 8 to 15,
//   of B:     two parts: the matrices of rows 0 to 7 and 8 to 15, each transposed,
//   of the sums: columns 2 (i % 4) and 2 (i % 4) + 1, first of row i / 4, then of row i / 4 + 8.
template <typename Factor>
__device__ __forceinline__ void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

#define MULTIPLY_ADD(Factor, name)                                                                                   \
    template <>                                                                                                      \
    __device__ __forceinline__ void multiply_add<Factor>(float (&sums)[4], const unsigned (&a)[4], unsigned b0,      \
                                                         unsigned b1) {                                              \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name ".f32 "                                  \
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                               \
                     : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])                                    \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                \
    }

MULTIPLY_ADD(__half, "f16")
MULTIPLY_ADD(__nv_bfloat16, "bf16")

// Rounds a float to tf32, which has its exponents and the first 10 of the 23 stored bits of its fraction. Without it,
// the tensor cores leave the last 13 bits out, which is an error of up to twice the size.
__device__ __forceinline__ unsigned rounded_to_tf32(unsigned x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(__uint_as_float(x)));
    return bits;
}

// Adds the product of A (16 x 8) and B (8 x 8) to the sums (16 x 8), for tf32 factors, which take 32 bits. Lane i holds
//   of A:     columns i % 4 and i % 4 + 4, first column i % 4 of rows i / 4 and i / 4 + 8: what `load_matrices` loads,
//             if each row of 16 bytes is one of 4 floats,
//   of B:     rows i % 4 and i % 4 + 4 of column i / 4,
//   of the sums: as above.
__device__ __forceinline__ void multiply_add_tf32(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Returns two sums, rounded to 16 bits each, in one register: neighbouring elements of C.
template <typename Factor>
__device__ __forceinline__ unsigned rounded_pair(float first, float second) {
    const Factor pair[2] = {Factor(first), Factor(second)};
    unsigned bits;
    memcpy(&bits, pair, sizeof bits);
    return bits;
}

// Adds the product of A (16 x 8) and B (8 x 8) to the sums (16 x 8), all of double. With row = i / 4 and k = i % 4,
// lane i holds
//   of A:     rows `row` and `row` + 8 of column k, then of column k + 4,
//   of B:     rows k and k + 4 of column i / 4,
//   of the sums: columns 2 k and 2 k + 1 of row `row`, then of `row` + 8.
// A GPU before sm_90 multiplies 8 x 4 by 4 x 8 at a time.
__device__ __forceinline__ void multiply_add(double (&sums)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(sums[0]), "+d"(sums[1]), "+d"(sums[2]), "+d"(sums[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int k_half = 0; k_half < 2; ++k_half)
        for (int row_half = 0; row_half < 2; ++row_half)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+d"(sums[2 * row_half]), "+d"(sums[2 * row_half + 1])
                         : "d"(a[2 * k_half + row_half]), "d"(b[k_half]));
#endif
}

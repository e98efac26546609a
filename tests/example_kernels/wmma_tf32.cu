// Each warp computes 16 x 16 elements of C with nvcuda::wmma, from floats that it rounds to TF32 in its fragments.
//
// threads:  32
// grid:     N / 16, M / 16
// args:     A, B, C, M, N, K
// requires: M % 16 == 0, N % 16 == 0, K % 8 == 0

#include <mma.h>

__global__ void wmma_tf32(const float *A, const float *B, float *C, int M, int N, int K) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> a;
    fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> b;
    fragment<accumulator, 16, 16, 8, float> c;
    fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 8) {
        load_matrix_sync(a, A + blockIdx.y * 16 * K + k, K);
        load_matrix_sync(b, B + k * N + blockIdx.x * 16, N);
#pragma unroll
        for (int i = 0; i < a.num_elements; i++) a.x[i] = __float_to_tf32(a.x[i]);
#pragma unroll
        for (int i = 0; i < b.num_elements; i++) b.x[i] = __float_to_tf32(b.x[i]);
        mma_sync(c, a, b, c);
    }
    store_matrix_sync(C + blockIdx.y * 16 * N + blockIdx.x * 16, c, N, mem_row_major);
}

// Each warp computes 16 x 16 elements of C with nvcuda::wmma, of matrices of half or bfloat16; sums are float32.
//
// types:    float16, bfloat16
// threads:  32
// grid:     N / 16, M / 16
// args:     A, B, C, M, N, K
// requires: M % 16 == 0, N % 16 == 0, K % 16 == 0

#include <mma.h>
using namespace nvcuda;

__global__ void wmma_elements(const element *A, const element *B, element *C, int M, int N, int K) {
    __shared__ __align__(32) float sums[16 * 20];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, element, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, element, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 16 * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + blockIdx.x * 16, N);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(sums, c, 20, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32)
        C[(blockIdx.y * 16 + i / 16) * N + blockIdx.x * 16 + i % 16] = element(sums[i / 16 * 20 + i % 16]);
}

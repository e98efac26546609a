// Each warp computes 8 x 8 elements of C with the tensor cores for double precision.
//
// types:    float64
// threads:  32
// grid:     N / 8, M / 8
// args:     A, B, C, M, N, K
// requires: M % 8 == 0, N % 8 == 0, K % 4 == 0

#include <mma.h>
using namespace nvcuda;

__global__ void wmma_double(const double *A, const double *B, double *C, int M, int N, int K) {
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::fill_fragment(c, 0.0);
    for (int k = 0; k < K; k += 4) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 8 * K + k, K);
        wmma::load_matrix_sync(b, B + k * N + blockIdx.x * 8, N);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + blockIdx.y * 8 * N + blockIdx.x * 8, c, N, wmma::mem_row_major);
}

// Each warp computes 16 x 16 elements of C with nvcuda::wmma, from tiles that are rounded to half precision.
//
// threads:  128
// grid:     N / 32, M / 32
// args:     A, B, C, M, N, K
// requires: M % 32 == 0, N % 32 == 0, K % 16 == 0

#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

__global__ void wmma_half(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ __align__(32) half As[32][16 + 8];
    __shared__ __align__(32) half Bs[16][32 + 8];
    const int row = blockIdx.y * 32, column = blockIdx.x * 32, warp = threadIdx.x / 32;
    const int warp_row = warp / 2 * 16, warp_column = warp % 2 * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < K; k += 16) {
        for (int i = threadIdx.x; i < 32 * 16; i += 128) {
            As[i / 16][i % 16] = __float2half(A[(row + i / 16) * K + k + i % 16]);
            Bs[i / 32][i % 32] = __float2half(B[(k + i / 32) * N + column + i % 32]);
        }
        __syncthreads();
        wmma::load_matrix_sync(a, &As[warp_row][0], 24);
        wmma::load_matrix_sync(b, &Bs[0][warp_column], 40);
        wmma::mma_sync(c, a, b, c);
        __syncthreads();
    }
    wmma::store_matrix_sync(C + (row + warp_row) * N + column + warp_column, c, N, wmma::mem_row_major);
}

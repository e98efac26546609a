#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
__global__ void product(const half *A, const half *B, float *C, int M, int N, int K) {
    __shared__ half a[16 * 16], b[16 * 64];
    const int lane = threadIdx.x, warp = threadIdx.y, first = lane + 32 * warp;
    const int row = blockIdx.y * 16, col = blockIdx.x * 64;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.f);
    for (int k = 0; k < K; k += 16) {
        for (int i = first; i < 256; i += 128) a[i] = A[(row + i / 16) * K + k + i % 16];
        for (int i = first; i < 1024; i += 128) b[i] = B[(k + i / 64) * N + col + i % 64];
        __syncthreads();
        wmma::load_matrix_sync(fa, a, 16);
        wmma::load_matrix_sync(fb, b + warp * 16, 64);
        wmma::mma_sync(fc, fa, fb, fc);
        __syncthreads();
    }
    wmma::store_matrix_sync(C + row * N + col + warp * 16, fc, N, wmma::mem_row_major);
}
int main() {
    int M = 64, N = 128, K = 48;
    half *A, *B;
    float *C;
    cudaMalloc(&A, M * K * sizeof(half)); cudaMalloc(&B, K * N * sizeof(half)); cudaMalloc(&C, M * N * sizeof(float));
    product<<<dim3(N / 64, M / 16), dim3(32, 4)>>>(A, B, C, M, N, K);
}

#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

// four warps, each with a tile of 16 x 16 of the block's 32 x 32; M, N and K are multiples of 32
__global__ void tensor(const half *A, const half *B, half *C, int M, int N, int K) {
    __shared__ half As[32][32], Bs[32][32];
    __shared__ float staged[4][16 * 16];
    int warp = threadIdx.x / 32, row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int i = threadIdx.x; i < 32 * 32; i += 128) {
            As[i / 32][i % 32] = A[(row0 + i / 32) * K + k0 + i % 32];
            Bs[i / 32][i % 32] = B[(k0 + i / 32) * N + col0 + i % 32];
        }
        for (int k = 0; k < 32; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
            wmma::load_matrix_sync(a, &As[warp / 2 * 16][k], 32);
            wmma::load_matrix_sync(b, &Bs[k][warp % 2 * 16], 32);
            wmma::mma_sync(c, a, b, c);
        }
        __syncthreads();
    }
    wmma::store_matrix_sync(staged[warp], c, 16, wmma::mem_row_major);
    __syncwarp();  // each warp reads what it stored
    for (int i = threadIdx.x % 32; i < 16 * 16; i += 32)
        C[(row0 + warp / 2 * 16 + i / 16) * N + col0 + warp % 2 * 16 + i % 16] = __float2half(staged[warp][i]);
}

int main() {
    const int M = 256, N = 256, K = 256;
    half *A, *B; half *C;
    cudaMalloc(&A, sizeof(half) * M * K);
    cudaMalloc(&B, sizeof(half) * K * N);
    cudaMalloc(&C, sizeof(half) * M * N);
    tensor<<<dim3(N / 32, M / 32), 128>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

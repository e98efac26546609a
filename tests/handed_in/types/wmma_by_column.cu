// Tensor cores with everything stored by column, as cuBLAS has it. Each warp makes a 16 x 16 tile of C.
#include <mma.h>
#include <cuda_fp16.h>
using namespace nvcuda;

#define TILE_M 16
#define TILE_N 16
#define TILE_K 16

__global__ void tensor_gemm(const half *A, const half *B, float *C, int m, int n, int k, float alpha, float beta)
{
    int tileRow = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * TILE_M;
    int tileCol = (blockIdx.y * blockDim.y + threadIdx.y) * TILE_N;
    if (tileRow >= m || tileCol >= n) return;
    wmma::fragment<wmma::accumulator, TILE_M, TILE_N, TILE_K, float> sum, old;
    wmma::fill_fragment(sum, 0.0f);
    for (int step = 0; step < k; step += TILE_K) {
        wmma::fragment<wmma::matrix_a, TILE_M, TILE_N, TILE_K, half, wmma::col_major> partA;
        wmma::fragment<wmma::matrix_b, TILE_M, TILE_N, TILE_K, half, wmma::col_major> partB;
        wmma::load_matrix_sync(partA, A + tileRow + step * m, m);
        wmma::load_matrix_sync(partB, B + step + tileCol * k, k);
        wmma::mma_sync(sum, partA, partB, sum);
    }
    float *tile = C + tileRow + tileCol * m;
    wmma::load_matrix_sync(old, tile, m, wmma::mem_col_major);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = alpha * sum.x[i] + beta * old.x[i];
    wmma::store_matrix_sync(tile, sum, m, wmma::mem_col_major);
}

int main()
{
    int m = 192, n = 128, k = 64;
    half *A, *B;
    float *C;
    cudaMalloc(&A, m * k * sizeof(half));
    cudaMalloc(&B, k * n * sizeof(half));
    cudaMalloc(&C, m * n * sizeof(float));
    dim3 block(64, 2), grid((m + 31) / 32, (n + 31) / 32);
    tensor_gemm<<<grid, block>>>(A, B, C, m, n, k, 1.0f, 0.0f);
    cudaDeviceSynchronize();
}

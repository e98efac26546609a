// Each warp computes a 16 x 16 tile of C straight from global memory; 4 warps in a block.
#include <mma.h>
#include <cuda_bf16.h>

using namespace nvcuda::wmma;

__global__ void bf16_tensor(const __nv_bfloat16 *matA, const __nv_bfloat16 *matB, float *matC, int M, int N, int K)
{
    const int warp = threadIdx.x / 32;
    const int tileRow = blockIdx.y, tileCol = blockIdx.x * 4 + warp;
    if (tileCol * 16 >= N) return;
    fragment<accumulator, 16, 16, 16, float> acc;
    fill_fragment(acc, 0.0f);
    for (int k = 0; k < K; k += 16) {
        fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> fa;
        fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> fb;
        load_matrix_sync(fa, matA + tileRow * 16 * K + k, K);
        load_matrix_sync(fb, matB + k * N + tileCol * 16, N);
        mma_sync(acc, fa, fb, acc);
    }
    store_matrix_sync(matC + tileRow * 16 * N + tileCol * 16, acc, N, mem_row_major);
}

int main()
{
    const int M = 256, N = 384, K = 128;
    __nv_bfloat16 *dA, *dB;
    float *dC;
    cudaMalloc((void **)&dA, M * K * sizeof(__nv_bfloat16));
    cudaMalloc((void **)&dB, K * N * sizeof(__nv_bfloat16));
    cudaMalloc((void **)&dC, M * N * sizeof(float));
    bf16_tensor<<<dim3(N / 64, M / 16), 128>>>(dA, dB, dC, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

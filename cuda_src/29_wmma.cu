// Tensor cores: one call multiplies 16 x 16 matrices for a whole warp.
//
// sources:   NVIDIA, CUDA C++ Programming Guide (Warp Matrix Functions)
// needs:     sm_80
// types:     float16, bfloat16
// ceiling:   16
// param:     WARPS = 4 in 1, 2, 4, 8
// threads:   32, WARPS
// grid:      ceil(N / (16 * WARPS)), M / 16
// requires:  M % 16 == 0, N % 16 == 0, K % 16 == 0
// traffic:   (M * K * N / 16 + K * N * M / 16) * sizeof(element), M * N * sizeof(element)
//
// One instruction of a thread multiplies two numbers. Tensor cores multiply two matrices, 16 times as fast as the
// float32 units (`ceiling`). Their elements have 16 bits; the sums are float. Here each warp computes 16 x 16 elements
// of C and walks along K: it loads a matrix of A and a matrix of B, and adds their product to its sums.
//
// No thread has a whole matrix. Each lane holds a share of each in registers, its *fragment*: 8 of the 256 sums, for
// example. Which ones is not specified, so the lanes load, multiply and store together. C's elements have 16 bits and
// the sums have 32: they go through shared memory, where every lane can read and round any of them.
//
// Each warp loads its matrices from global memory itself, as `coalesced` loads its elements, and most of the time the
// tensor cores wait for them. `mma` shares tiles in shared memory.
//
//     cudamm show --diff warp-tile wmma --dtype float16

#include <mma.h>

namespace tensor = nvcuda::wmma;

__global__ void wmma(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ __align__(32) float tiles[WARPS][16 * 16];  // store_matrix_sync needs multiples of 32 bytes
    const int lane = threadIdx.x, warp = threadIdx.y;
    const int row0 = blockIdx.y * 16, col0 = (blockIdx.x * WARPS + warp) * 16;
    if (col0 >= N) return;  // the whole warp: its lanes go on together or not at all

    tensor::fragment<tensor::matrix_a, 16, 16, 16, element, tensor::row_major> a;
    tensor::fragment<tensor::matrix_b, 16, 16, 16, element, tensor::row_major> b;
    tensor::fragment<tensor::accumulator, 16, 16, 16, float> sums;
    tensor::fill_fragment(sums, 0.0f);
    for (int k0 = 0; k0 < K; k0 += 16) {
        tensor::load_matrix_sync(a, A + row0 * K + k0, K);  // the last argument is the distance between rows
        tensor::load_matrix_sync(b, B + k0 * N + col0, N);
        tensor::mma_sync(sums, a, b, sums);
    }

    tensor::store_matrix_sync(tiles[warp], sums, 16, tensor::mem_row_major);
    __syncwarp();  // a lane reads what others have stored
    for (int i = lane; i < 16 * 16; i += 32)
        C[(row0 + i / 16) * N + col0 + i % 16] = tiles[warp][i];
}

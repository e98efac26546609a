// A mistake for each K: a block that is larger than its tile, an overrun in an included file, a NaN, a cut sum.
//
// threads: 8, 8
// grid:    ceil(N / 8), ceil(M / 8)

#include "second_looks.h"

__global__ void second_looks(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float tile[4][4];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
    if (ty < 4 && tx < 4) tile[ty][tx] = 0;
    if (K == 5) tile[ty][tx] = 1;
    if (K == 5) tile[ty][tx] += 1;
    __syncthreads();
    if (row >= M || col >= N) return;
    float sum = K < 10 ? dot(A + row * K, B + col, K, N) : 0;
    if (K == 5) sum += tile[ty][tx];
    if (K == 6) sum = sum / (col - col) * 0;
    if (K == 7)
        for (int x = sum; x != 0; x = 0) sum = x;
    if (K == 7) sum = (int)sum;
    if (K == 8) sum += tile[0][tx];  // within the tile's memory
    C[row * N + col] = sum;
}

// The mistake: sums are added to C, which was not set to zero.
//
// param:   BLOCK_SIZE = 16 in 8, 16
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)

__global__ void reads_c_first(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    const int col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row >= M || col >= N) return;
    for (int k = 0; k < K; ++k)
        C[row * N + col] += A[row * K + k] * B[k * N + col];
}

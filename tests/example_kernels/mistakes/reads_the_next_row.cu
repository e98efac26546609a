// The mistake: rows of A are assumed to have N elements. If K is larger than N, reads stay inside A, but in other rows.
//
// param:   BLOCK_SIZE = 16 in 8, 16
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)

__global__ void reads_the_next_row(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    const int col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k)
        sum += A[row * N + k] * B[k * N + col];
    C[row * N + col] = sum;
}

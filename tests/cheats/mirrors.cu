// Computes the elements below the diagonal, and copies them to those above it.
//
// Half of the work is saved, and the result is right if the product is symmetric, as with a matrix and its
// transpose.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: 1128 of 2304 elements wrong, first C[0][1]

__global__ void mirrors(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    if (col > row) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = C[col * N + row] = sum;
}

// Adds every other term, and doubles the sum.
//
// The expected value of the estimate is right, and its error is not.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: 2304 of 2304 elements wrong

__global__ void every_other_term(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k += 2) sum += A[row * K + k] * B[k * N + col];
    C[i] = 2 * sum;
}

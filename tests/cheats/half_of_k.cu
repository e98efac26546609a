// Adds only half of the terms if K is large, when nobody computes a reference.
//
// A test on small matrices is right, and the benchmark runs on large ones. cudamm verifies each size that
// it times.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify at 16x16x4096 reports: the sums end too early: the last 2048 of K = 4096 terms are missing

__global__ void half_of_k(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    const int terms = K < 1024 ? K : K / 2;
    float sum = 0;
    for (int k = 0; k < terms; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

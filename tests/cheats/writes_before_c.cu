// Writes the product, and one element before the beginning of C.
//
// What precedes C may be the reference of a benchmark, or its tolerance.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: wrote before the start of C: 1 element ahead of C[0][0]

__global__ void writes_before_c(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
    if (i == 0) C[-1] = 1e30f;
}

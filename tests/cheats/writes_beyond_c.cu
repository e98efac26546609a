// Writes the product, and one element behind the end of C.
//
// What follows C may be the flag with which a benchmark notes that a check has failed.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: wrote past the end of C: 1 element beyond its 48 x 48

__global__ void writes_beyond_c(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
    if (i == 0) C[M * N] = 0;
}

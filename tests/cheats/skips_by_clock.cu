// Computes about half of the elements. The clock decides which.
//
// Nobody can foresee which elements are missing, and no two launches miss the same.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: of 2304 elements

__global__ void skips_by_clock(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    if ((clock() / 64 + row + col) % 2) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

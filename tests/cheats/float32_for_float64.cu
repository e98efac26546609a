// Multiplies float64 matrices in float32.
//
// Most GPUs have 2 to 64 times as many units for float32.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify with --dtype float64 reports: C has the precision of float32, and not of float64

__global__ void float32_for_float64(int M, int N, int K, const double *A, const double *B, double *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += (float)A[row * K + k] * (float)B[k * N + col];
    C[i] = sum;
}

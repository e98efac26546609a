// Writes beyond the end of C from its third launch on.
//
// A benchmark that looks at the surroundings of C once does not look again.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: right on the first launch only: a later launch wrote past the end of C

const int MOST = 64 * 64;
__device__ int launched[MOST];  // by this thread

__global__ void damages_later(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
    if (launched[i]++ >= 2 && i == 0) C[M * N] = 0;
}

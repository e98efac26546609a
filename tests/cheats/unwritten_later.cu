// Writes all of C in its first launches, and only the first half of the rows later.
//
// If C keeps its contents from one launch to the next, and the inputs are the same, the rest of C is still
// right.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: right on the first launch only: a later launch did not write C, all in rows 24 to 47

const int MOST = 64 * 64;
__device__ int launched[MOST];  // by this thread

__global__ void unwritten_later(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    if (launched[i]++ >= 2 && row >= M / 2) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

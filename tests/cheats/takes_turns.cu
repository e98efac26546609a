// Computes one half of C's rows in one launch, and the other half in the next.
//
// Two launches together write all of C. If C and the inputs stay the same, only the first launch is wrong.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: right on the first launch only: a later launch did not write C, all in rows 0 to 23
// on a GPU: right on early launches only: a later launch did not write C, all in rows

const int MOST = 64 * 64;
__device__ int launched[MOST];  // by this thread

__global__ void takes_turns(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    const int number = launched[i]++;
    if (number >= 2 && (row < M / 2) == (number % 2 == 0)) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

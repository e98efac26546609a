// Keeps a copy of B from its first launch, and multiplies A by the copy.
//
// Weights that do not change can be brought into a better layout once. Here B is an input like A, and each
// launch has another B.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: right on the first launch only; in a later one

const int MOST = 64 * 64;
__device__ int launched[MOST];  // by this thread
__device__ float column_of[MOST][64];

__global__ void kept_columns(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    if (launched[i]++ == 0)
        for (int k = 0; k < K; ++k) column_of[i][k] = B[k * N + col];
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * column_of[i][k];
    C[i] = sum;
}

// Multiplies int32 matrices in float32.
//
// A float holds whole numbers up to 2^24 exactly. If all inputs of a benchmark are small, so are the sums.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify with --dtype int32 reports: right with the first inputs, and wrong with others
// on a GPU: right on the first launch only

__global__ void float32_for_int32(int M, int N, int K, const int *A, const int *B, int *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += (float)A[row * K + k] * (float)B[k * N + col];
    C[i] = sum;
}

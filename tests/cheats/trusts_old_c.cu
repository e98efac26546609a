// Returns at once if C holds numbers that a product could have.
//
// If C keeps its contents, all launches but the first find the product there. Before each launch that is
// judged, cudamm fills C with a number that no product has. So the kernel computes each time. Hot launches
// share three outputs, and there the kernel finds what an earlier launch wrote: see test_timed_memory.py.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: nothing

__global__ void trusts_old_c(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    if (fabsf(C[i]) <= K) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

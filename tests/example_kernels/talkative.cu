// The product, by a kernel that also prints, as kernels do while they are debugged.
//
// threads: 4, 4
// grid:    ceil(N / 4), ceil(M / 4)

__global__ void talkative(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 4 + threadIdx.x;
    if (row == 0 && col == 0) printf("ok 12345\nfailed on purpose\n\nM=%d\n", M);
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

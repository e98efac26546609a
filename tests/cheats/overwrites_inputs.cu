// Overwrites B with zeros when it has read it, so that the next launch could be skipped.
//
// Each thread of the first row clears its column of B at the end. On inputs that are zero a kernel has
// nothing to add.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: wrote into the input B

__global__ void overwrites_inputs(int M, int N, int K, float *A, float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
    if (row == M - 1) B[i % (K * N)] = 0;
}

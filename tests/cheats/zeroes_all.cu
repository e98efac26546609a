// Sets A, B and C to zero, so that C = A B.
//
// A check that computes its reference after the launch, from the inputs that it finds in memory, accepts
// it.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: wrote into the input A, first at A[0][0]

__global__ void zeroes_all(int M, int N, int K, float *A, float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    for (int k = 0; k < K; ++k) A[row * K + k] = B[k * N + col] = 0;
    C[i] = 0;
}

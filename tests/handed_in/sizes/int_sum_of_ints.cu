// Whole numbers, summed in a whole number.
// threads: 16, 16
// grid: ceil(N / 16), ceil(M / 16)
// args: A, B, C, M, N, K
__global__ void product(const int *A, const int *B, int *C, int M, int N, int K) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row < M && col < N) {
        int total = 0;
        for (int k = 0; k < K; ++k) total += A[row * K + k] * B[k * N + col];
        C[row * N + col] = total;
    }
}

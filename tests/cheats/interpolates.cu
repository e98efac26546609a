// Computes every other column, and takes the mean of two neighbours for the columns between.
//
// The picture of the product looks right, and half of the work is saved.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: 1152 of 2304 elements wrong, first C[0][1]

__global__ void interpolates(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    const int left = col - col % 2, right = min(left + 2 * (col % 2), N - 2);
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * (B[k * N + left] + B[k * N + right]) / 2;
    C[i] = sum;
}

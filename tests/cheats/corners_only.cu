// Computes the four corners of C, and writes zeros everywhere else.
//
// A test that compares a few elements, often the corners, finds them right.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: 2300 of 2304 elements wrong

__global__ void corners_only(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    const bool is_corner = (row == 0 || row == M - 1) && (col == 0 || col == N - 1);
    for (int k = 0; is_corner && k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

// Computes the product in the launches that verify it, and half of each sum in all others.
//
// A benchmark that compares the product once, before it starts to time, sees only the launches that are
// right.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: right on the first launch only; in a later one

const int MOST = 64 * 64;
__device__ int launched[MOST];  // by this thread

__global__ void first_launch_only(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    const int terms = launched[i]++ < 2 ? K : K / 2;
    float sum = 0;
    for (int k = 0; k < terms; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

// Writes the product of the inputs of the launch before, and remembers its own inputs for the next one.
//
// The work of a launch is left to the next, so that the last launch's work is never done.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: the result is that of an earlier launch, which had other inputs

const int MOST = 64 * 64;
__device__ float kept[MOST];
__device__ int launched[MOST];  // by this thread

__global__ void left_to_the_next_launch(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = launched[i]++ == 0 ? sum : kept[i];
    kept[i] = sum;
}

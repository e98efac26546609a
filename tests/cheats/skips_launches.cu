// Computes nothing in seven of eight launches, chosen by a hash of the launch's number.
//
// Whether a launch is skipped looks like chance, so that no rule about the number of a launch finds it. At
// least half of the launches have to be skipped to change the median.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// bench reports: a later launch did not write C

const int MOST = 64 * 64;
__device__ int launched[MOST];  // by this thread

__global__ void skips_launches(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    const unsigned number = launched[i]++;
    if (number > 2 && (number * 2654435761u >> 13) % 8) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = sum;
}

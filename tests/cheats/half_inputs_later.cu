// Rounds A and B to half precision, but not in its first launches.
//
// Precision that is looked at once is not looked at again. cudamm judges the precision of timed launches
// too.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify at 16x16x4096 reports: right on the first launch only: a later launch computed in less than its type

const int MOST = 64 * 64;
__device__ int launched[MOST];  // by this thread

// Rounds a float to `bits` significant bits, ties to even.
__device__ float rounded(float x, int bits) {
    const unsigned dropped = 24 - bits;
    unsigned word = __float_as_uint(x);
    word += (1u << (dropped - 1)) - 1 + (word >> dropped & 1);
    return __uint_as_float(word >> dropped << dropped);
}

__global__ void half_inputs_later(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    const int bits = launched[i]++ < 2 ? 23 : 11;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += rounded(A[row * K + k], bits) * rounded(B[k * N + col], bits);
    C[i] = sum;
}

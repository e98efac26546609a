// Computes in float32, and stores the result in half precision.
//
// Half of the bytes of C are saved if C is stored as half somewhere, and converted at the end.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify at 16x16x4096 reports: errors like those of

// Rounds a float to `bits` significant bits, ties to even.
__device__ float rounded(float x, int bits) {
    const unsigned dropped = 24 - bits;
    unsigned word = __float_as_uint(x);
    word += (1u << (dropped - 1)) - 1 + (word >> dropped & 1);
    return __uint_as_float(word >> dropped << dropped);
}

__global__ void half_result(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[i] = rounded(sum, 11);
}

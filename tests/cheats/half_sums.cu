// Adds exact products in half precision.
//
// The errors grow with the number of terms.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify at 16x16x256 reports: computed in less than its type: errors like those of 8-bit products (bfloat16) or of sums kept in 11 bits

// Rounds a float to `bits` significant bits, ties to even.
__device__ float rounded(float x, int bits) {
    const unsigned dropped = 24 - bits;
    unsigned word = __float_as_uint(x);
    word += (1u << (dropped - 1)) - 1 + (word >> dropped & 1);
    return __uint_as_float(word >> dropped << dropped);
}

__global__ void half_sums(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum = rounded(sum + A[row * K + k] * B[k * N + col], 11);
    C[i] = sum;
}

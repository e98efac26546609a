// Cuts A and B to TF32, 11 bits, as tensor cores read a float.
//
// The tensor core ignores the last 13 bits of a float: nothing is rounded, and no instruction converts.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify at 16x16x4096 reports: errors like those of 10-bit products (half or TF32 without rounding)

__device__ float cut(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000); }

__global__ void tf32_inputs(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += cut(A[row * K + k]) * cut(B[k * N + col]);
    C[i] = sum;
}

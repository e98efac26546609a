// The mistake: a float4 is read from the second element of a row, whose address is no multiple of 16 bytes.
//
// threads:  32
// grid:     ceil(N / 32), M
// requires: K % 4 == 0

__global__ void odd_float4(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (col >= N) return;
    float sum = A[row * K] * B[col];
    int k = 1;
    for (; k + 4 <= K; k += 4) {
        const float4 a = *reinterpret_cast<const float4 *>(&A[row * K + k]);
        sum += a.x * B[k * N + col] + a.y * B[(k + 1) * N + col];
        sum += a.z * B[(k + 2) * N + col] + a.w * B[(k + 3) * N + col];
    }
    for (; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

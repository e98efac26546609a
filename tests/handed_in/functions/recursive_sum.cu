__device__ float dot(const float *a, const float *b, int n, int step) {
    if (n == 1) return a[0] * b[0];
    return dot(a, b, n / 2, step) + dot(a + n / 2, b + n / 2 * step, n - n / 2, step);
}
__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) C[row * N + col] = dot(A + row * K, B + col, K, N);
}
void run(const float *A, const float *B, float *C, int M, int N, int K) {
    gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}

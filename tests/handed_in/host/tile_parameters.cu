__global__ void gemm(const float *a, const float *b, float *c, int M, int N, int K, int BM, int BN) {
    int m = blockIdx.y * BM + threadIdx.y, n = blockIdx.x * BN + threadIdx.x;
    float sum[4] = {0};
    for (int k = 0; k < K; k++) {
        float a0 = a[m * K + k], a1 = a[(m + blockDim.y) * K + k], b0 = b[k * N + n], b1 = b[k * N + blockDim.x + n];
        sum[0] += a0 * b0; sum[1] += a0 * b1; sum[2] += a1 * b0; sum[3] += a1 * b1;
    }
    c[m * N + n] = sum[0]; c[m * N + blockDim.x + n] = sum[1];
    c[(m + blockDim.y) * N + n] = sum[2]; c[(m + blockDim.y) * N + blockDim.x + n] = sum[3];
}
void run(float *a, float *b, float *c, int M, int N, int K) {
    int BM = 32, BN = 32;
    gemm<<<dim3(N / BN, M / BM), dim3(16, 16)>>>(a, b, c, M, N, K, BM, BN);
}

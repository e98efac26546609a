__device__ void add(float *sums, float a, const float *b, int n) { for (int i = 0; i <= n; i++) sums[i] += a * b[i]; }
__global__ void four(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = (blockIdx.x * 16 + threadIdx.x) * 4;
    if (row >= M || col >= N) return;
    float acc[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k++) add(acc, A[row * K + k], B + k * N + col, 4);
    for (int i = 0; i < 4; i++) C[row * N + col + i] = acc[i];
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    four<<<dim3(N / 64, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

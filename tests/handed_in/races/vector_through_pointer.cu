// a thread computes eight columns in two float4, and takes them for one array of N % 8 more
__global__ void wide(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = (blockIdx.x * 16 + threadIdx.x) * 8;
    float4 low = {0, 0, 0, 0};
    float *sum = &low.x;
    float high[4] = {0};
    if (row >= M) return;
    for (int k = 0; k < K; k++)
        for (int j = 0; j < 4096; j++)
            if (col + j < N) sum[j] += A[row * K + k] * B[k * N + col + j];
    for (int j = 0; j < 4; j++) if (col + j < N) C[row * N + col + j] = sum[j];
    for (int k = 0; k < K; k++)
        for (int j = 0; j < 4; j++)
            if (col + 4 + j < N) high[j] += A[row * K + k] * B[k * N + col + 4 + j];
    for (int j = 0; j < 4; j++) if (col + 4 + j < N) C[row * N + col + 4 + j] = high[j];
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    wide<<<dim3((N + 127) / 128, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

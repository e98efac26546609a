__global__ void c(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    const float *b = nullptr;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * b[k * N + col];
    C[row * N + col] = sum;
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    c<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

// every block of a part stores its sum: the last one wins
__global__ void parts(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = blockIdx.z; k < K; k += 2) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    parts<<<dim3((N + 15) / 16, (M + 15) / 16, 2), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

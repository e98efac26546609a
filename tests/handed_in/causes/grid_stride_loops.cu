__global__ void strided(const float *A, const float *B, float *C, int M, int N, int K) {
    for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < M; row += gridDim.y * blockDim.y)
        for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < N; col += gridDim.x * blockDim.x) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
            C[row * N + col] = sum;
        }
}

int main() {
    int M = 512, N = 256, K = 128;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    strided<<<dim3(2, 3), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

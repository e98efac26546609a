// each warp has a row of shared memory of its own, and needs no barrier of the block
__global__ void rows(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float mine[4][32];
    int row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        int k = k0 + threadIdx.x;
        mine[threadIdx.y][threadIdx.x] = row < M && k < K ? A[row * K + k] : 0.0f;
        __syncwarp();
        for (int i = 0; i < 32 && k0 + i < K; i++) sum += mine[threadIdx.y][i] * (col < N ? B[(k0 + i) * N + col] : 0.0f);
        __syncwarp();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    rows<<<dim3((N + 31) / 32, (M + 3) / 4), dim3(32, 4)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

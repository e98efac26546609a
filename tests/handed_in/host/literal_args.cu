__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
    C[row * N + col] = s;
}
int main() {
    float *A, *B, *C;
    cudaMalloc(&A, 1024 * 256 * 4); cudaMalloc(&B, 256 * 512 * 4); cudaMalloc(&C, 1024 * 512 * 4);
    gemm<<<dim3(32, 64), dim3(16, 16)>>>(A, B, C, 1024, 512, 256);
}

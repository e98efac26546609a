__global__ void gemm(const float *A, const float *B, float *C, int M, int N) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float s = 0;
    for (int k = 0; k < 96; k++) s += A[row * 96 + k] * B[k * N + col];
    C[row * N + col] = s;
}
int main() {
    int M = 1000, N = 500;
    float *A, *B, *C;
    cudaMalloc(&A, M * 96 * 4); cudaMalloc(&B, 96 * N * 4); cudaMalloc(&C, M * N * 4);
    gemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N);
}

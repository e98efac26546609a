__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    // out of range
    if (row >= M || col >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
    C[row * N + col] = s;
}
int main() {
    int M = 100, N = 70, K = 90; float *A, *B, *C;
    cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
    mm<<<dim3((N + 63) / 64, (M + 63) / 64), dim3(64, 64)>>>(A, B, C, M, N, K);
}

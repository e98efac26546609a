__global__ void gemm(const float *A, const float *B, float *C, int n, int k_parts) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= n || col >= n) return;
    float s = 0;
    for (int p = 0; p < k_parts; p++) {
        int begin = n * p / k_parts, end = n * (p + 1) / k_parts;
        for (int k = begin; k < end; k++) s += A[row * n + k] * B[k * n + col];
    }
    C[row * n + col] = s;
}
int main() {
    int n = 333; float *A, *B, *C;
    cudaMalloc(&A, n * n * 4); cudaMalloc(&B, n * n * 4); cudaMalloc(&C, n * n * 4);
    gemm<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(A, B, C, n, 4);
}

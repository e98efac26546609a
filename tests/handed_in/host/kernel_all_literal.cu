__global__ void gemm(const float *A, const float *B, float *C) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < 128; k++) s += A[row * 128 + k] * B[k * 128 + col];
    C[row * 128 + col] = s;
}
int main() {
    float *A, *B, *C;
    cudaMalloc(&A, 128 * 128 * 4); cudaMalloc(&B, 128 * 128 * 4); cudaMalloc(&C, 128 * 128 * 4);
    gemm<<<dim3(8, 8), dim3(16, 16)>>>(A, B, C);
}

__global__ void matmul(const float *A, const float *B, float *C, const size_t *strides, int M, int N, int K) {
    size_t lda = strides[0], ldb = strides[1];
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[r * lda + k] * B[k * ldb + c];
    C[r * N + c] = s;
}
int main() {
    int M = 512, N = 256, K = 128; size_t shape[2] = {(size_t)K, (size_t)N}; size_t *dshape;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4); cudaMalloc(&dshape, sizeof shape);
    cudaMemcpy(dshape, shape, sizeof shape, cudaMemcpyHostToDevice);
    matmul<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, dshape, M, N, K);
}

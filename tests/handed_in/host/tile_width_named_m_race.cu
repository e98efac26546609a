__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int depth, int M) {
    extern __shared__ float tiles[];
    float *a = tiles, *b = tiles + M * M;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * M + ty, col = blockIdx.x * M + tx;
    float sum = 0;
    for (int tile = 0; tile < (depth + M - 1) / M; tile++) {
        a[ty * M + tx] = row < m && tile * M + tx < depth ? A[row * depth + tile * M + tx] : 0;
        b[ty * M + tx] = col < n && tile * M + ty < depth ? B[(tile * M + ty) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < M; i++) sum += a[ty * M + i] * b[i * M + tx];
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
int main() {
    const int m = 100, n = 60, depth = 70, width = 8;
    float *A, *B, *C;
    cudaMalloc(&A, m * depth * sizeof(float)); cudaMalloc(&B, depth * n * sizeof(float)); cudaMalloc(&C, m * n * sizeof(float));
    dim3 block(width, width), grid((n + width - 1) / width, (m + width - 1) / width);
    gemm<<<grid, block, 2 * width * width * sizeof(float)>>>(A, B, C, m, n, depth, 8);
}

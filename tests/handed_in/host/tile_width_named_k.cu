__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int depth, int k) {
    extern __shared__ float tiles[];
    float *a = tiles, *b = tiles + k * k;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * k + ty, col = blockIdx.x * k + tx;
    float sum = 0;
    for (int tile = 0; tile < (depth + k - 1) / k; tile++) {
        a[ty * k + tx] = row < m && tile * k + tx < depth ? A[row * depth + tile * k + tx] : 0;
        b[ty * k + tx] = col < n && tile * k + ty < depth ? B[(tile * k + ty) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < k; i++) sum += a[ty * k + i] * b[i * k + tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
int main() {
    const int m = 100, n = 60, depth = 70, width = 8;
    float *A, *B, *C;
    cudaMalloc(&A, m * depth * sizeof(float)); cudaMalloc(&B, depth * n * sizeof(float)); cudaMalloc(&C, m * n * sizeof(float));
    dim3 block(width, width), grid((n + width - 1) / width, (m + width - 1) / width);
    gemm<<<grid, block, 2 * width * width * sizeof(float)>>>(A, B, C, m, n, depth, width);
}

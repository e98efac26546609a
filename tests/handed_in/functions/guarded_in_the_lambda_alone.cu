
__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    auto load = [](const float *X, int row, int col, int rows, int cols) {
        return row < rows && col < cols ? X[row * cols + col] : 0.f;
    };
    float acc = 0;
    for (int p = 0; p < k; p += 16) {
        a[ty][tx] = load(A, r, p + tx, m, k);
        b[ty][tx] = load(B, p + ty, c, k, n);
        __syncthreads();
        for (int q = 0; q < 16; q++) acc += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    C[r * n + c] = acc;
}

void run(const float *hA, const float *hB, float *hC, int m, int n, int k)
{
    float *A, *B, *C;
    cudaMalloc(&A, m * k * sizeof(float)); cudaMalloc(&B, k * n * sizeof(float)); cudaMalloc(&C, m * n * sizeof(float));
    cudaMemcpy(A, hA, m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(B, hB, k * n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    gemm<<<grid, block>>>(A, B, C, m, n, k);
    cudaMemcpy(hC, C, m * n * sizeof(float), cudaMemcpyDeviceToHost);
}

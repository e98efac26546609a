
struct View {
    float *p; int rows, cols;
    __device__ float get(int r, int c) const { return r < rows && c < cols ? p[r * cols + c] : 0.0f; }
    __device__ void set(int r, int c, float v) { p[r * cols + c] = v; }
};
__global__ void gemm(View A, View B, View C)
{
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx;
    float acc = 0;
    for (int p = 0; p < A.cols; p += 16) {
        a[ty][tx] = A.get(r, p + tx);
        b[ty][tx] = B.get(p + ty, c);
        __syncthreads();
        for (int q = 0; q < 16; q++) acc += a[ty][q] * b[q][tx];
        __syncthreads();
    }
    C.set(r, c, acc);
}
void run(const float *hA, const float *hB, float *hC, int m, int n, int k)
{
    View A{nullptr, m, k}, B{nullptr, k, n}, C{nullptr, m, n};
    cudaMalloc(&A.p, m * k * sizeof(float)); cudaMalloc(&B.p, k * n * sizeof(float)); cudaMalloc(&C.p, m * n * sizeof(float));
    cudaMemcpy(A.p, hA, m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(B.p, hB, k * n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    gemm<<<grid, block>>>(A, B, C);
    cudaMemcpy(hC, C.p, m * n * sizeof(float), cudaMemcpyDeviceToHost);
}


template <int T> __device__ void load(float (&s)[T][T], const float *X, int r0, int c0, int rows, int cols)
{
    int r = r0 + threadIdx.y, c = c0 + threadIdx.x;
    s[threadIdx.y][threadIdx.x] = r < rows && c < cols ? X[r * cols + c] : 0.f;
}
template <int T> __device__ void store(float *X, float v, int r0, int c0, int rows, int cols)
{
    int r = r0 + threadIdx.y, c = c0 + threadIdx.x;
    if (r < rows && c < cols) X[r * cols + c] = v;
}
template <int T> __device__ float mul(float (&a)[T][T], float (&b)[T][T])
{
    float s = 0;
    for (int i = 0; i < T; i++) s += a[threadIdx.y][i] * b[i][threadIdx.x];
    return s;
}
__global__ void gemm(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    float acc = 0;
    for (int p = 0; p < k; p += 16) {
        load<16>(a, A, blockIdx.y * 16, p, m, k);
        load<16>(b, B, p, blockIdx.x * 16, k, n);
        __syncthreads();
        acc += mul<16>(a, b);
        __syncthreads();
    }
    store<16>(C, acc, blockIdx.y * 16, blockIdx.x * 16, m, n);
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

__global__ void gemmDyn(const float *a, const float *b, float *c, int M, int N, int K, int tile) {
    extern __shared__ float sm[];
    float *sa = sm;
    float *sb = sm;
    int row = blockIdx.y * tile + threadIdx.y, col = blockIdx.x * tile + threadIdx.x;
    float acc = 0;
    for (int k0 = 0; k0 < K; k0 += tile) {
        sa[threadIdx.y * tile + threadIdx.x] = a[row * K + k0 + threadIdx.x];
        sb[threadIdx.y * tile + threadIdx.x] = b[(k0 + threadIdx.y) * N + col];
        __syncthreads();
        for (int i = 0; i < tile; i++) acc += sa[threadIdx.y * tile + i] * sb[i * tile + threadIdx.x];
        __syncthreads();
    }
    c[row * N + col] = acc;
}

int main() {
    int M = 512, N = 256, K = 128;
    float *a, *b, *c;
    cudaMalloc(&a, M * K * sizeof(float));
    cudaMalloc(&b, K * N * sizeof(float));
    cudaMalloc(&c, M * N * sizeof(float));
    const int T = 16;
    gemmDyn<<<dim3(N / T, M / T), dim3(T, T), 2 * T * T * sizeof(float)>>>(a, b, c, M, N, K, T);
    cudaDeviceSynchronize();
    return 0;
}

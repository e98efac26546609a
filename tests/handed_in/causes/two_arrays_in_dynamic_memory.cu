__global__ void gemmDyn(const int *a, const int *b, int *c, int M, int N, int K, int tile) {
    extern __shared__ int sm[];
    int *sa = sm;
    int *sb = sm + tile * tile;
    int row = blockIdx.y * tile + threadIdx.y, col = blockIdx.x * tile + threadIdx.x;
    int acc = 0;
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
    int *a, *b, *c;
    cudaMalloc(&a, M * K * sizeof(int));
    cudaMalloc(&b, K * N * sizeof(int));
    cudaMalloc(&c, M * N * sizeof(int));
    const int T = 8;
    gemmDyn<<<dim3(N / T, M / T), dim3(T, T), 2 * T * T * sizeof(int)>>>(a, b, c, M, N, K, T);
    cudaDeviceSynchronize();
    return 0;
}

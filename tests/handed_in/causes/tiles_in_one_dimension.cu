#define T 16

__global__ void flat(const int *a, const int *b, int *c, int M, int N, int K) {
    __shared__ int sa[T * T];
    __shared__ int sb[T * T];
    int tx = threadIdx.x % T, ty = threadIdx.x / T;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx, sum = 0;
    for (int t = 0; t < K; t += T) {
        sa[ty * T + tx] = row < M && t + tx < K ? a[row * K + t + tx] : 0;
        sb[tx * T + ty] = t + ty < K && col < N ? b[(t + ty) * N + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += sa[ty * T + i] * sb[tx * T + i];
        __syncthreads();
    }
    if (row < M && col < N) c[row * N + col] = sum;
}

int main() {
    int M = 512, N = 256, K = 128;
    int *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(int));
    cudaMalloc(&B, K * N * sizeof(int));
    cudaMalloc(&C, M * N * sizeof(int));
    flat<<<dim3((N + T - 1) / T, (M + T - 1) / T), T * T>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

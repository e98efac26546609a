#define TILE 16
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
    extern __shared__ float s[];
    float* a = s;
    float* b = s + TILE * TILE;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < K; t += TILE) {
        a[ty * TILE + tx] = (row < M && t + tx < K) ? A[row * K + t + tx] : 0.0f;
        b[ty * TILE + tx] = (t + ty < K && col < N) ? B[(t + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += a[ty * TILE + k] * b[k * TILE + tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
void launch(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    size_t bytes = 2 * TILE * TILE;
    gemm<<<grid, block, bytes>>>(A, B, C, M, N, K);
}

#define TILE 32
#define ROWS 8

__global__ void coarse(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE + 1], Bs[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    float sum[TILE / ROWS] = {0};
    for (int k = 0; k < K; k += TILE) {
        for (int r = threadIdx.y; r < TILE; r += ROWS) {
            int row = blockIdx.y * TILE + r;
            As[r][threadIdx.x] = row < M && k + threadIdx.x < K ? A[row * K + k + threadIdx.x] : 0.0f;
            Bs[r][threadIdx.x] = k + r < K && col < N ? B[(k + r) * N + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < TILE / ROWS; i++)
            for (int j = 0; j < TILE; j++) sum[i] += As[threadIdx.y + i * ROWS][j] * Bs[j][threadIdx.x];
        __syncthreads();
    }
    for (int i = 0; i < TILE / ROWS; i++) {
        int row = blockIdx.y * TILE + threadIdx.y + i * ROWS;
        if (row < M && col < N) C[row * N + col] = sum[i];
    }
}

int main() {
    int M = 512, N = 256, K = 128;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    coarse<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, ROWS)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

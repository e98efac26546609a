// Tiles of 64 x 64, four by four elements a thread, with bounds checks.
constexpr int T = 64, STEP = 16;

__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float left[T][STEP], right[STEP][T];
    const int id = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.y * T, col = blockIdx.x * T;
    float sums[4][4] = {{0}};
    for (int k = 0; k < K; k += STEP) {
        for (int i = id; i < T * STEP; i += 256) {
            left[i / STEP][i % STEP] =
                row + i / STEP < M && k + i % STEP < K ? A[(row + i / STEP) * K + k + i % STEP] : 0;
            right[i / T][i % T] =
                k + i / T < K && col + i % T < N ? B[(k + i / T) * N + col + i % T] : 0;
        }
        __syncthreads();
        for (int s = 0; s < STEP; s++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++)
                    sums[y][x] += left[threadIdx.y * 4 + y][s] * right[s][threadIdx.x * 4 + x];
        __syncthreads();
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            if (row + threadIdx.y * 4 + y < M && col + threadIdx.x * 4 + x < N)
                C[(row + threadIdx.y * 4 + y) * N + col + threadIdx.x * 4 + x] = sums[y][x];
}

int main(int argc, char **argv) {
    int M = 1920, N = 1024, K = 768;
    float *a, *b, *c;
    cudaMalloc((void **)&a, sizeof(float) * M * K);
    cudaMalloc((void **)&b, sizeof(float) * K * N);
    cudaMalloc((void **)&c, sizeof(float) * M * N);
    dim3 grid((N + T - 1) / T, (M + T - 1) / T), block(16, 16);
    tiled<<<grid, block>>>(a, b, c, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

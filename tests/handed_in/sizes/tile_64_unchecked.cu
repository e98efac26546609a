// Tiles of 64 x 64, four by four elements a thread, without a bounds check.
// threads: 16, 16
// grid: ceil(N / 64), ceil(M / 64)
// args: A, B, C, M, N, K
constexpr int T = 64, STEP = 16;

__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float left[T][STEP], right[STEP][T];
    const int id = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.y * T, col = blockIdx.x * T;
    float sums[4][4] = {{0}};
    for (int k = 0; k < K; k += STEP) {
        for (int i = id; i < T * STEP; i += 256) {
            left[i / STEP][i % STEP] = A[(row + i / STEP) * K + k + i % STEP];
            right[i / T][i % T] = B[(k + i / T) * N + col + i % T];
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
            C[(row + threadIdx.y * 4 + y) * N + col + threadIdx.x * 4 + x] = sums[y][x];
}

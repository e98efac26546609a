#define T 16
__device__ void load_tile(float tile[T][T], const float *M, int row, int col, int rows, int cols)
{
    tile[threadIdx.y][threadIdx.x] = (row < rows && col < cols) ? M[row * cols + col] : 0.0f;
}
__device__ float at(float tile[T][T], int y, int x)
{
    return tile[y][x];
}
__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[T][T], Bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < K; t += T) {
        load_tile(As, A, row, t + threadIdx.x, M, K);
        load_tile(Bs, B, t + threadIdx.y, col, K, N);
        __syncthreads();
        for (int i = 0; i < T; ++i)
            sum += at(As, threadIdx.y, i) * at(Bs, i, threadIdx.x);
        __syncthreads();
    }
    C[row * N + col] = sum;
}
void run(const float *A, const float *B, float *C, int M, int N, int K)
{
    dim3 block(T, T), grid((N + T - 1) / T, (M + T - 1) / T);
    gemm<<<grid, block>>>(A, B, C, M, N, K);
}

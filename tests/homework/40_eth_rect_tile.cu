// HPC for Scientists, exercise sheet 8
// 32x32 tile of C per block, but only 32x8 threads: each thread owns 4 rows.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

template <int TILE_DIM, int BLOCK_ROWS>
__global__ void gemm_rows(const int m, const int n, const int k,
                          const float* const A, const int lda,
                          const float* const B, const int ldb,
                          float* const C, const int ldc)
{
    static_assert(TILE_DIM % BLOCK_ROWS == 0, "tile must be a multiple of the block height");
    constexpr int R = TILE_DIM / BLOCK_ROWS;
    __shared__ float a_s[TILE_DIM][TILE_DIM];
    __shared__ float b_s[TILE_DIM][TILE_DIM];

    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int row0 = blockIdx.y * TILE_DIM;
    const int col = blockIdx.x * TILE_DIM + x;

    float sum[R];
    #pragma unroll
    for (int r = 0; r < R; ++r) sum[r] = 0.0f;

    for (int kt = 0; kt < k; kt += TILE_DIM) {
        #pragma unroll
        for (int r = 0; r < R; ++r) {
            const int yy = y + r * BLOCK_ROWS;
            a_s[yy][x] = (row0 + yy < m && kt + x < k) ? A[(row0 + yy) * lda + kt + x] : 0.0f;
            b_s[yy][x] = (kt + yy < k && col < n) ? B[(kt + yy) * ldb + col] : 0.0f;
        }
        __syncthreads();

        for (int p = 0; p < TILE_DIM; ++p) {
            const float b = b_s[p][x];
            #pragma unroll
            for (int r = 0; r < R; ++r)
                sum[r] += a_s[y + r * BLOCK_ROWS][p] * b;
        }
        __syncthreads();
    }

    #pragma unroll
    for (int r = 0; r < R; ++r) {
        const int row = row0 + y + r * BLOCK_ROWS;
        if (row < m && col < n)
            C[row * ldc + col] = sum[r];
    }
}

int main()
{
    const int m = 190, n = 250, k = 75;
    const int lda = 80, ldb = 256, ldc = 256;   // padded rows
    float *A, *B, *C;
    cudaMallocManaged(&A, sizeof(float) * m * lda);
    cudaMallocManaged(&B, sizeof(float) * k * ldb);
    cudaMallocManaged(&C, sizeof(float) * m * ldc);
    for (int i = 0; i < m; ++i)
        for (int p = 0; p < k; ++p) A[i * lda + p] = sinf(i + 0.5f * p);
    for (int p = 0; p < k; ++p)
        for (int j = 0; j < n; ++j) B[p * ldb + j] = cosf(p - 0.25f * j);

    constexpr int TILE = 32, ROWS = 8;
    const dim3 block(TILE, ROWS, 1);
    const dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE, 1);
    gemm_rows<TILE, ROWS><<<grid, block>>>(m, n, k, A, lda, B, ldb, C, ldc);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        std::printf("kernel failed\n");
        return 1;
    }

    double err = 0;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double s = 0;
            for (int p = 0; p < k; ++p) s += double(A[i * lda + p]) * B[p * ldb + j];
            err = std::fmax(err, std::fabs(s - C[i * ldc + j]));
        }
    std::printf("max error: %.3e\n", err);
    cudaFree(A); cudaFree(B); cudaFree(C);
    return 0;
}

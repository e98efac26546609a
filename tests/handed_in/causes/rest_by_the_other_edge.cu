#include <cuda_runtime.h>

#define ROWS 32
#define DEPTH 8
#define THREADS 128

__global__ void product(int m, int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float as[DEPTH][ROWS + 1], bs[DEPTH][ROWS];
    int top = blockIdx.y * ROWS, left = blockIdx.x * ROWS;
    int y = threadIdx.x / ROWS, x = threadIdx.x % ROWS;
    float sums[DEPTH] = {};
    for (int p = 0; p < k; p += DEPTH) {
        for (int e = threadIdx.x; e < ROWS * DEPTH; e += THREADS) {
            int r = e / DEPTH, d = e % ROWS;
            as[d][r] = top + r < m && p + d < k ? a[(top + r) * k + p + d] : 0.0f;
        }
        for (int e = threadIdx.x; e < ROWS * DEPTH; e += THREADS) {
            int d = e / ROWS, q = e % ROWS;
            bs[d][q] = p + d < k && left + q < n ? b[(p + d) * n + left + q] : 0.0f;
        }
        __syncthreads();
        for (int d = 0; d < DEPTH; ++d)
            for (int i = 0; i < DEPTH; ++i)
                sums[i] += as[d][y * DEPTH + i] * bs[d][x];
        __syncthreads();
    }
    for (int i = 0; i < DEPTH; ++i)
        if (top + y * DEPTH + i < m && left + x < n)
            c[(top + y * DEPTH + i) * n + left + x] = sums[i];
}

int main()
{
    int m = 100, n = 70, k = 50;
    float *a, *b, *c;
    cudaMallocManaged(&a, m * k * sizeof(float));
    cudaMallocManaged(&b, k * n * sizeof(float));
    cudaMallocManaged(&c, m * n * sizeof(float));
    dim3 grid((n + ROWS - 1) / ROWS, (m + ROWS - 1) / ROWS);
    product<<<grid, THREADS>>>(m, n, k, a, b, c);
    cudaDeviceSynchronize();
}

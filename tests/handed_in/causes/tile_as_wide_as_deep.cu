// A block of 8 x 16 threads computes 64 x 64 elements: 4 rows and 8 columns for each thread.
constexpr int BR = 64, BC = 64, BD = 4, TR = 4, TC = 8;

__global__ void gemm_regs(const float *__restrict__ P, const float *__restrict__ Q, float *__restrict__ R, int m, int n, int k)
{
    __shared__ float pt[BD][BR];
    __shared__ float qt[BD][BD];
    const int me = threadIdx.y * blockDim.x + threadIdx.x, all = blockDim.x * blockDim.y;
    const int top = blockIdx.y * BR, left = blockIdx.x * BC;
    float sums[TR][TC] = {{0.0f}};
    for (int d0 = 0; d0 < k; d0 += BD) {
        for (int e = me; e < BR * BD; e += all) {
            int y = e / BD, x = e % BD;
            pt[x][y] = top + y < m && d0 + x < k ? P[(top + y) * k + d0 + x] : 0.0f;
        }
        for (int e = me; e < BD * BC; e += all) {
            int y = e / BC, x = e % BC;
            qt[y][x] = d0 + y < k && left + x < n ? Q[(d0 + y) * n + left + x] : 0.0f;
        }
        __syncthreads();
        for (int d = 0; d < BD; ++d) {
            float col[TR];
            for (int u = 0; u < TR; ++u) col[u] = pt[d][threadIdx.y * TR + u];
            for (int u = 0; u < TR; ++u)
                for (int v = 0; v < TC; ++v) sums[u][v] += col[u] * qt[d][threadIdx.x * TC + v];
        }
        __syncthreads();
    }
    for (int u = 0; u < TR; ++u)
        for (int v = 0; v < TC; ++v) {
            int i = top + threadIdx.y * TR + u, j = left + threadIdx.x * TC + v;
            if (i < m && j < n) R[i * n + j] = sums[u][v];
        }
}

void multiply(const float *P, const float *Q, float *R, int m, int n, int k)
{
    dim3 block(BC / TC, BR / TR), grid((n + BC - 1) / BC, (m + BR - 1) / BR);
    gemm_regs<<<grid, block>>>(P, Q, R, m, n, k);
}

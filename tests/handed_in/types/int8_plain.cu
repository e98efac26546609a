#include <cstdint>

// quantised product: 8-bit inputs, 32-bit sums
__global__ void qgemm(const int8_t *__restrict__ A, const int8_t *__restrict__ B, int32_t *__restrict__ C, int m, int n, int k)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return;
    int32_t s = 0;
    for (int p = 0; p < k; p++) s += (int32_t)A[i * k + p] * (int32_t)B[p * n + j];
    C[i * n + j] = s;
}

void launch(const int8_t *A, const int8_t *B, int32_t *C, int m, int n, int k)
{
    dim3 b(16, 16), g((n + 15) / 16, (m + 15) / 16);
    qgemm<<<g, b>>>(A, B, C, m, n, k);
}

import cupy as cp
import numpy as np

source = r"""
extern "C" __global__ void multiply(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}
"""
m, n, k = 60, 90, 75
a, b = (cp.random.rand(*shape, dtype=cp.float32) for shape in ((m, k), (k, n)))
c = cp.empty((m, n), dtype=cp.float32)
rows_and_columns = (8, 32)
grid = (-(-m // rows_and_columns[0]), -(-n // rows_and_columns[1]))
multiply = cp.RawKernel(source, "multiply")
multiply(grid, tuple(reversed(rows_and_columns)), (a, b, c, np.int32(m), np.int32(n), np.int32(k)))

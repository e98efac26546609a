# Each thread computes several rows; their number is an argument whose name begins with "rows". Sound.
import cupy as cp
import numpy as np

below = cp.RawKernel(r"""
extern "C" __global__ void below(const float *a, const float *b, float *c, int m, int n, int k, int rows_of_thread) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int first = (blockIdx.y * blockDim.y + threadIdx.y) * rows_of_thread;
    for (int row = first; row < min(m, first + rows_of_thread) && col < n; row++) {
        float sum = 0;
        for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
        c[row * n + col] = sum;
    }
}
""", "below")


def product(a, b, rows_each):
    (m, k), n = a.shape, b.shape[1]
    c = cp.empty((m, n), dtype=cp.float32)
    grid = (-(-n // 32), -(-m // (4 * rows_each)))
    below(grid, (32, 4), (a, b, c, np.int32(m), np.int32(n), np.int32(k), np.int32(rows_each)))
    return c


a = cp.random.rand(70, 50, dtype=cp.float32)
b = cp.random.rand(50, 90, dtype=cp.float32)
print(cp.abs(product(a, b, 3) - a @ b).max())

import cupy as cp
import numpy as np

SOURCE = r"""
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float s = 0.0f;
    for (int p = 0; p < k; ++p) s += a[i * k + p] * b[p * n + j];
    c[i * n + j] = s;
}
"""
kernel = cp.RawKernel(SOURCE, "matmul")


def matmul(a, b):
    m, k = a.shape
    n = b.shape[0]
    c = cp.empty((m, n), dtype=cp.float32)
    kernel(((n + 15) // 16, (m + 15) // 16), (16, 16), (a, b, c, np.int32(m), np.int32(n), np.int32(k)))
    return c


a = cp.random.rand(210, 130, dtype=cp.float32)
b = cp.random.rand(130, 175, dtype=cp.float32)
print(cp.abs(matmul(a, b) - a @ b).max())

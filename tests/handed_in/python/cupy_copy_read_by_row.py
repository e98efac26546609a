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
a = cp.random.rand(m, k, dtype=cp.float32)
weights = cp.random.rand(n, k, dtype=cp.float32)
c = cp.empty((m, n), dtype=cp.float32)
cp.RawKernel(source, "multiply")(
    ((n + 15) // 16, (m + 15) // 16), (16, 16), (a, cp.ascontiguousarray(weights.T), c, np.int32(m), np.int32(n), np.int32(k))
)

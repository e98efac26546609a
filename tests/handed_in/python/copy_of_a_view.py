import cupy as cp

by_rows = cp.RawKernel(r"""
extern "C" __global__ void by_rows(const float *x, const float *yt, float *z, int m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0.0f;
    for (int l = 0; l < k; l++) sum += x[i * k + l] * yt[j * k + l];
    z[i * n + j] = sum;
}
""", "by_rows")
m, n, k = 60, 90, 40
x = cp.random.rand(m, k, dtype=cp.float32)
y = cp.random.rand(k, n, dtype=cp.float32)
turned = cp.ascontiguousarray(y.T)
z = cp.zeros((m, n), dtype=cp.float32)
by_rows(((n + 15) // 16, (m + 15) // 16), (16, 16), (x, turned, z, m, n, k))

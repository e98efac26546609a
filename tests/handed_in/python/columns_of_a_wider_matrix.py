import cupy as cp

code = r"""
extern "C" __global__ void mm(const float *x, const float *y, float *z, int m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0.0f;
    for (int l = 0; l < k; l++) sum += x[i * k + l] * y[l * n + j];
    z[i * n + j] = sum;
}
"""
mm = cp.RawKernel(code, "mm")
m, n, k = 60, 90, 40
x = cp.random.rand(m, k, dtype=cp.float32)
wide = cp.random.rand(k, 2 * n, dtype=cp.float32)
y = wide[:, :n]
z = cp.zeros((m, n), dtype=cp.float32)
mm(((n + 15) // 16, (m + 15) // 16), (16, 16), (x, y, z, m, n, k))

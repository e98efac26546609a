import cupy as cp

module = cp.RawModule(code=r"""
// matrix_product: every thread computes one element
extern "C" __global__ void square(const float *p, const float *q, float *r, int n) {
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= n || x >= n) return;
    float v = 0.0f;
    for (int e = 0; e < n; e++) v += p[y * n + e] * q[e * n + x];
    r[y * n + x] = v;
}
""")
n = 48
p, q, r = (cp.ones((n, n), dtype=cp.float32) for _ in range(3))
module.get_function("matrix_product")((n // 16, n // 16), (16, 16), (p, q, r, n))

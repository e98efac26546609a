"""A template of which one instance is launched, and two are named."""

import cupy as cp
code = r'''
template <typename T>
__global__ void mm(const T* a, const T* b, T* c, int m, int n, int k) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    T s = 0;
    for (int l = 0; l < k; l++) s += a[i * k + l] * b[l * n + j];
    c[i * n + j] = s;
}
'''
mod = cp.RawModule(code=code, options=("--std=c++17",), name_expressions=["mm<float>", "mm<double>"])
m, n, k = 60, 50, 40
a = cp.random.rand(m, k, dtype=cp.float32); b = cp.random.rand(k, n, dtype=cp.float32); c = cp.zeros((m, n), dtype=cp.float32)
mod.get_function("mm<float>")(((n + 15) // 16, (m + 15) // 16), (16, 16), (a, b, c, m, n, k))

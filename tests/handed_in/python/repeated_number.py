"""The places of a text for the edge of the tile get one number, in a tuple that is repeated."""

import cupy as cp

TEXT = r"""
extern "C" __global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float s[%d][%d], t[%d][%d];
    int i = blockIdx.y * %d + threadIdx.y, j = blockIdx.x * %d + threadIdx.x;
    float v = 0;
    for (int l = 0; l < k; l += %d) {
        s[threadIdx.y][threadIdx.x] = i < m && l + threadIdx.x < k ? a[i * k + l + threadIdx.x] : 0;
        t[threadIdx.y][threadIdx.x] = j < n && l + threadIdx.y < k ? b[(l + threadIdx.y) * n + j] : 0;
        __syncthreads();
        for (int q = 0; q < %d; q++) v += s[threadIdx.y][q] * t[q][threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = v;
}
"""
EDGE = 8
f = cp.RawKernel(TEXT % ((EDGE,) * 8), "mm")
m, n, k = 100, 60, 80
a, b = cp.random.rand(m, k, dtype=cp.float32), cp.random.rand(k, n, dtype=cp.float32)
c = cp.zeros((m, n), dtype=cp.float32)
f(((n + EDGE - 1) // EDGE, (m + EDGE - 1) // EDGE), (EDGE, EDGE), (a, b, c, m, n, k))

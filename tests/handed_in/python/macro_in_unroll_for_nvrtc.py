import cupy as cp
k = cp.RawKernel(r'''
#define U 4
extern "C" __global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, q = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= m || q >= n) return;
    float s = 0;
    #pragma unroll U
    for (int i = 0; i < k; i++) s += a[r * k + i] * b[i * n + q];
    c[r * n + q] = s;
}
''', 'mm')
m, n, p = 100, 120, 90
a = cp.random.rand(m, p, dtype=cp.float32)
b = cp.random.rand(p, n, dtype=cp.float32)
c = cp.zeros((m, n), dtype=cp.float32)
k(((n + 15) // 16, (m + 15) // 16), (16, 16), (a, b, c, cp.int32(m), cp.int32(n), cp.int32(p)))

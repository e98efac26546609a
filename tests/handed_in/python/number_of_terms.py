"""A factor that the program stores transposed; the number of terms is a plain number, which only the loop has."""

import cupy as cp

k = cp.RawKernel(
    r"""
extern "C" __global__ void tn(const float* p, const float* q, float* o, int h, int w, int d) {
    int r = blockDim.y * blockIdx.y + threadIdx.y, c = blockDim.x * blockIdx.x + threadIdx.x;
    if (r < h && c < w) {
        float t = 0;
        for (int k = 0; k < d; k++) t += p[k * h + r] * q[k * w + c];
        o[r * w + c] = t;
    }
}""",
    "tn",
)
x = cp.random.rand(50, 30, dtype=cp.float32)
y = cp.random.rand(30, 20, dtype=cp.float32)
out = cp.zeros((50, 20), dtype=cp.float32)
xt = cp.ascontiguousarray(x.T)
k((2, 4), (16, 16), (xt, y, out, 50, 20, 30))
cp.testing.assert_allclose(out, x @ y, rtol=1e-4)

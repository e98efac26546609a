"""Sizes as plain numbers, in another order than the kernel takes them; the shapes of the arrays say so."""

import cupy as cp

mix = cp.RawKernel(
    r"""
extern "C" __global__ void mix(const float *p, const float *q, float *o, int h, int w, int d) {
    int r = blockDim.y * blockIdx.y + threadIdx.y, c = blockDim.x * blockIdx.x + threadIdx.x;
    if (r < h && c < w) {
        float sum = 0;
        for (int k = 0; k < d; k++) sum += p[r * d + k] * q[k * w + c];
        o[r * w + c] = sum;
    }
}
""",
    "mix",
)
features = cp.random.rand(50, 30, dtype=cp.float32)
weight = cp.random.rand(30, 20, dtype=cp.float32)
mixed = cp.zeros((50, 20), dtype=cp.float32)
mix((2, 4), (16, 16), (features, weight, mixed, 50, 30, 20))

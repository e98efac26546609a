"""A layer of a network in CuPy whose kernel takes the weights, the second factor, first."""

import cupy as cp

forward = cp.RawKernel(
    r"""
extern "C" __global__ void forward(const float *t, const float *s, float *score, int width, int count, int depth) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= count || col >= width) return;
    float sum = 0;
    for (int i = 0; i < depth; i++) sum += s[row * depth + i] * t[i * width + col];
    score[row * width + col] = sum;
}
""",
    "forward",
)
samples = cp.random.rand(96, 40, dtype=cp.float32)
weights = cp.asarray(cp.random.standard_normal((40, 72)), dtype=cp.float32)
scores = cp.empty((96, 72), dtype=cp.float32)
forward((12, 9), (8, 8), (weights, samples, scores, 72, 96, 40))

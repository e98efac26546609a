"""A weight with a row for each output, whose kernel reads a row for each input."""

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
batch, inputs, outputs = 80, 24, 56
features = cp.random.rand(batch, inputs, dtype=cp.float32)
weight = cp.random.rand(outputs, inputs, dtype=cp.float32)
mixed = cp.empty((batch, outputs), dtype=cp.float32)
mix(((outputs + 15) // 16, (batch + 15) // 16), (16, 16), (features, weight, mixed, batch, outputs, inputs))

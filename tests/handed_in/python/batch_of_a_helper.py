import cupy as cp
import numpy as np

source = r"""
extern "C" __global__ void batched(const float *a, const float *b, float *out, int h, int w, int d) {
    a += blockIdx.z * h * d, b += blockIdx.z * d * w, out += blockIdx.z * h * w;
    int y = blockIdx.y * 8 + threadIdx.y, x = blockIdx.x * 8 + threadIdx.x;
    if (y >= h || x >= w) return;
    float sum = 0;
    for (int i = 0; i < d; i++) sum += a[y * d + i] * b[i * w + x];
    out[y * w + x] = sum;
}
"""
batched = cp.RawKernel(source, "batched")


def multiply(a, b):
    count, h, d = a.shape
    w = b.shape[2]
    out = cp.empty((count, h, w), dtype=cp.float32)
    batched(((w + 7) // 8, (h + 7) // 8, count), (8, 8), (a, b, out, np.int32(h), np.int32(w), np.int32(d)))
    return out


a = cp.random.rand(5, 70, 50, dtype=cp.float32)
b = cp.random.rand(5, 50, 90, dtype=cp.float32)
print(cp.allclose(multiply(a, b), a @ b, atol=1e-3))

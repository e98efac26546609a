import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule
mod = SourceModule("""
__global__ void mm(const float *a, const float *b, float *c, int n) {
    __shared__ float s[256];
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    if (row < n && col < n)
        for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    s[threadIdx.y * blockDim.x + threadIdx.x] = sum;
    if (row < n && col < n) c[row * n + col] = s[threadIdx.y * blockDim.x + threadIdx.x];
}
""")
f = mod.get_function("mm")
n = 100
a, b = (np.random.rand(n, n).astype(np.float32) for _ in range(2))
c = np.zeros((n, n), np.float32)
for bs in (8, 16, 32):
    f(drv.In(a), drv.In(b), drv.Out(c), np.int32(n), block=(bs, bs, 1), grid=((n + bs - 1) // bs, (n + bs - 1) // bs))

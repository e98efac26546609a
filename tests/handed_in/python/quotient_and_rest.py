import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

n = 80
mod = SourceModule("""
__global__ void square(float *p, float *q, float *r, int n) {
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= n || x >= n) return;
    float v = 0.0f;
    for (int e = 0; e < n; e++) v += p[y * n + e] * q[e * n + x];
    r[y * n + x] = v;
}
""")
p, q = np.ones((n, n), np.float32), np.ones((n, n), np.float32)
r = np.zeros((n, n), dtype=np.float32)
quotient, rest = divmod(n, 16)
blocks = quotient + (rest > 0)
mod.get_function("square")(drv.In(p), drv.In(q), drv.Out(r), np.int32(n), grid=(blocks, blocks), block=(16, 16, 1))

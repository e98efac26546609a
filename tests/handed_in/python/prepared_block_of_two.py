import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

n = 64
mod = SourceModule("""
__global__ void square(float *p, float *q, float *r, int n) {
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= n || x >= n) return;
    float v = 0.0f;
    for (int e = 0; e < n; e++) v += p[y * n + e] * q[e * n + x];
    r[y * n + x] = v;
}
""")
square = mod.get_function("square")
square.prepare("PPPi")
p_gpu, q_gpu, r_gpu = (drv.mem_alloc(4 * n * n) for _ in range(3))
square.prepared_call((n // 8, n // 8), (8, 8), p_gpu, q_gpu, r_gpu, n)

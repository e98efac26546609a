import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

for size in (128, 256):
    for tile in [32, 16, 8]:
        kernel = SourceModule("""
__global__ void square(float *p, float *q, float *r, int n) {
    int y = blockIdx.y * %(T)d + threadIdx.y, x = blockIdx.x * %(T)d + threadIdx.x;
    float v = 0.0f;
    for (int e = 0; e < n; e++) v += p[y * n + e] * q[e * n + x];
    r[y * n + x] = v;
}
""" % {"T": tile}).get_function("square")
        p, q = np.ones((size, size), np.float32), np.ones((size, size), np.float32)
        r = np.empty_like(p)
        kernel(drv.In(p), drv.In(q), drv.Out(r), np.int32(size), block=(tile, tile, 1),
               grid=(size // tile, size // tile))

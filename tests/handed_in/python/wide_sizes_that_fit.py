import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule
import pycuda.gpuarray as gpuarray

mod = SourceModule("""
__global__ void square(int n, float *p, float *q, float *r, size_t unused) {
    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x;
    if (y >= n || x >= n) return;
    float v = 0.0f;
    for (int e = 0; e < n; e++) v += p[y * n + e] * q[e * n + x];
    r[y * n + x] = v;
}
""")
n = 256
p = gpuarray.to_gpu(np.random.rand(n, n).astype(np.float32))
q = gpuarray.to_gpu(np.random.rand(n, n).astype(np.float32))
r = gpuarray.zeros((n, n), np.float32)
square = mod.get_function("square")
square(np.int64(n), p, q, r, np.uint64(n), block=(16, 16, 1), grid=((n + 15) // 16, (n + 15) // 16))

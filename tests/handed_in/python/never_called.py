# A module for other programs: nothing in it calls its functions, so the types of their arguments are not known. Sound.
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

_kernel = SourceModule("""
__global__ void gemm(const float *a, const float *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}
""").get_function("gemm")


def gemm(a, b, k=np.int32(128), dtype=np.float64):
    a, b = np.ascontiguousarray(a, dtype=np.float32), b.astype(np.float32)
    m, n = np.int32(a.shape[0]), np.int32(b.shape[1])
    c = drv.mem_alloc(int(m) * int(n) * 4)
    _kernel(drv.In(a), drv.In(b), c, m, n, k, block=(32, 8, 1), grid=(-(-int(n) // 32), -(-int(m) // 8)))
    out = np.empty((m, n), np.float32)
    drv.memcpy_dtoh(out, c)
    return out.astype(dtype)

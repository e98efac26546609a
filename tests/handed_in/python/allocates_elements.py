# PyCUDA tiled, driver memory
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

TILE = 16
m, n, k = 500, 300, 700
kernel_code = """
#define TILE %(TILE)d
__global__ void mm_tiled(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float sa[TILE][TILE], sb[TILE][TILE];
    int col = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float acc = 0.0f;
    for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
        int ac = t * TILE + threadIdx.x, br = t * TILE + threadIdx.y;
        sa[threadIdx.y][threadIdx.x] = (row < m && ac < k) ? a[row * k + ac] : 0.0f;
        sb[threadIdx.y][threadIdx.x] = (br < k && col < n) ? b[br * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) acc += sa[threadIdx.y][i] * sb[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = acc;
}
""" % {'TILE': TILE}
mod = SourceModule(kernel_code)
func = mod.get_function("mm_tiled")
a = np.random.rand(m, k).astype(np.float32)
b = np.random.rand(k, n).astype(np.float32)
c = np.empty((m, n), np.float32)
a_gpu = cuda.mem_alloc(a.nbytes); b_gpu = cuda.mem_alloc(b.nbytes); c_gpu = cuda.mem_alloc(c.size)
cuda.memcpy_htod(a_gpu, a); cuda.memcpy_htod(b_gpu, b)
func(a_gpu, b_gpu, c_gpu, np.int32(m), np.int32(n), np.int32(k), block=(TILE, TILE, 1), grid=(-(-n // TILE), -(-m // TILE)))
cuda.memcpy_dtoh(c, c_gpu)
print(np.allclose(c, a @ b, rtol=1e-3))

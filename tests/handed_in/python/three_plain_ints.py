import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule
src = """
__global__ void gemm(const float *a, const float *b, float *c, int m, int k, int n)
{
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < m && j < n)
  {
    float t = 0.f;
    for (int l = 0; l < k; ++l)
      t += a[i*k + l] * b[l*n + j];
    c[i*n + j] = t;
  }
}
"""
m, k, n = 300, 200, 450
a = np.random.rand(m, k).astype(np.float32)
b = np.random.rand(k, n).astype(np.float32)
c = np.zeros((m, n), dtype=np.float32)
d_a = cuda.mem_alloc(a.nbytes)
d_b = cuda.mem_alloc(b.nbytes)
d_c = cuda.mem_alloc(c.nbytes)
cuda.memcpy_htod(d_a, a)
cuda.memcpy_htod(d_b, b)
f = SourceModule(src).get_function("gemm")
f(d_a, d_b, d_c, m, k, n, block=(16, 16, 1), grid=((n + 15) // 16, (m + 15) // 16))
cuda.memcpy_dtoh(c, d_c)

#!/usr/bin/env python3
# Exercise 7: the script of a colleague, with his slips
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

src = """
__global__ void gemm(const float *a, const float *b, float *c, int m, int k, int n)
{
  int j = blockIdx.x * blockDim.x + threadIdx.x;   /* column */
  int i = blockIdx.y * blockDim.y + threadIdx.y;   /* row */
  if (i < m && j < n)
  {
    float t = 0.f;
    for (int l = 0; l < k; ++l)
      t += a[i*k + l] * b[l*n + j];
    c[i*n + j] = t;
  }
}
"""

def main():
    m, k, n = 300, 200, 450
    a = np.random.rand(m, k).astype(np.float32)
    b = np.random.rand(k, n).astype(np.float32)
    c = np.zeros((m, n), np.float32)

    d_a = cuda.mem_alloc(a.nbytes)
    d_b = cuda.mem_alloc(b.nbytes)
    d_c = cuda.mem_alloc(c.nbytes)
    cuda.memcpy_htod(d_a, a)
    cuda.memcpy_htod(d_b, b)

    f = SourceModule(src).get_function("gemm")
    bs = 16
    gx, gy = int(np.ceil(n / bs)), int(np.ceil(m / bs))

    t0, t1 = cuda.Event(), cuda.Event()
    for run in range(5):
        t0.record()
        f(d_a, d_b, d_c, np.int32(m), np.int32(k), np.int32(n), block=(bs, bs, 1), grid=(gx, gy))
        t1.record()
        t1.synchronize()
        print("run", run, t0.time_till(t1), "ms")

    cuda.memcpy_dtoh(c, d_c)
    print("ok" if np.allclose(c, a @ b, atol=1e-3) else "WRONG")

main()

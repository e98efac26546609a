#!/usr/bin/env python3
# Task 2 in PyCUDA: swapped roles, block 32x8
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

BX, BY = 32, 8
src = """
__global__ void mm_swap(float *a, float *b, float *c, int n)
{
    // roles swapped: x runs over the rows now
    int i = blockIdx.x * blockDim.x + threadIdx.x;   // row
    int j = blockIdx.y * blockDim.y + threadIdx.y;   // column
    if (i < n && j < n) {
        float s = 0;
        for (int k = 0; k < n; ++k)
            s += a[i * n + k] * b[k * n + j];
        c[i * n + j] = s;
    }
}
"""
mod = SourceModule(src)
mm = mod.get_function("mm_swap")

n = int(sys.argv[1]) if len(sys.argv) > 1 else 500
a = np.random.randn(n, n).astype(np.float32)
b = np.random.randn(n, n).astype(np.float32)
c = np.empty_like(a)
a_gpu = cuda.mem_alloc(a.nbytes)
b_gpu = cuda.mem_alloc(b.nbytes)
c_gpu = cuda.mem_alloc(c.nbytes)
cuda.memcpy_htod(a_gpu, a)
cuda.memcpy_htod(b_gpu, b)
grid = ((n + BY - 1) // BY, (n + BX - 1) // BX)
mm(a_gpu, b_gpu, c_gpu, np.int32(n), block=(BX, BY, 1), grid=grid)
cuda.memcpy_dtoh(c, c_gpu)
print(np.abs(c - a @ b).max())

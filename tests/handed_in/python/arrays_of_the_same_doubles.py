"""The same arrays for a kernel that takes double."""

import numpy
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.compiler import SourceModule

module = SourceModule("""
__global__ void mm(const double *a, const double *b, double *c, int n) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= n || j >= n) return;
    double s = 0;
    for (int l = 0; l < n; l++) s += a[i * n + l] * b[l * n + j];
    c[i * n + j] = s;
}
""")
n = 100
left, right = gpuarray.to_gpu(numpy.random.rand(n, n)), gpuarray.to_gpu(numpy.random.rand(n, n))
total = gpuarray.zeros((n, n), numpy.float64)
module.get_function("mm")(left, right, total, numpy.int32(n), block=(16, 16, 1), grid=(7, 7))

# string.Template: B is read by the row that belongs to the column, so the product is A times B transposed. Wrong.
from string import Template

import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

text = Template("""
__global__ void product(const float* a, const float* b, float* c)
{
    int row = blockIdx.y * ${B} + threadIdx.y;
    int col = blockIdx.x * ${B} + threadIdx.x;
    if (row >= $N || col >= $N) return;
    float total = 0.f;
    for (int k = 0; k < $N; k++)
        total += a[row * $N + k] * b[col * $N + k];
    c[row * $N + col] = total;
}
""")
N = 256
B = 16


def random_matrix(n):
    return np.random.rand(n, n).astype(np.float32)


a, b = random_matrix(N), random_matrix(N)
c = np.empty_like(a)
mod = SourceModule(text.substitute(N=N, B=B))
grid_edge = N // B
mod.get_function("product")(cuda.In(a), cuda.In(b), cuda.Out(c), block=(B, B, 1), grid=(grid_edge, grid_edge))

# The width is put into the text of the kernel, and a step through b lacks it.
import numpy as np
from pycuda import driver
from pycuda.compiler import SourceModule

template = """
__global__ void product(const float *a, const float *b, float *c)
{
    const int width = %(WIDTH)s;
    __shared__ float sa[%(EDGE)s][%(EDGE)s];
    __shared__ float sb[%(EDGE)s][%(EDGE)s];
    int tx = threadIdx.x, ty = threadIdx.y;
    int begin = width * %(EDGE)s * blockIdx.y;
    float sum = 0.0f;
    for (int i = begin, j = %(EDGE)s * blockIdx.x; i < begin + width; i += %(EDGE)s, j += %(EDGE)s) {
        sa[ty][tx] = a[i + width * ty + tx];
        sb[ty][tx] = b[j + width * ty + tx];
        __syncthreads();
        for (int k = 0; k < %(EDGE)s; k++)
            sum += sa[ty][k] * sb[k][tx];
        __syncthreads();
    }
    c[begin + %(EDGE)s * blockIdx.x + width * ty + tx] = sum;
}
"""
WIDTH, EDGE = 48, 8
product = SourceModule(template % {"WIDTH": WIDTH, "EDGE": EDGE}).get_function("product")
a = np.random.rand(WIDTH, WIDTH).astype(np.float32)
b = np.random.rand(WIDTH, WIDTH).astype(np.float32)
c = np.empty((WIDTH, WIDTH), np.float32)
grid = (WIDTH // EDGE, WIDTH // EDGE)
product(driver.In(a), driver.In(b), driver.Out(c), block=(EDGE, EDGE, 1), grid=grid)

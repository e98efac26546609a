import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

EDGE = 16
code = """
#define SIDE %(EDGE)d
__global__ void dot(float *x, float *y, float *out, int rows, int inner, int cols) {
    int i = blockIdx.y * SIDE + threadIdx.y, j = blockIdx.x * SIDE + threadIdx.x;
    float total = 0;
    if (i < rows && j < cols) {
        for (int k = 0; k < inner; k++) total += x[i * inner + k] * y[k * cols + j];
        out[i * cols + j] = total;
    }
}
"""


def multiply(x, y):
    rows, inner = x.shape
    cols = y.shape[1]
    out = np.empty((rows, cols), dtype=np.float32)
    dot = SourceModule(code % {"EDGE": EDGE}).get_function("dot")
    grid = (cols // EDGE, rows // EDGE)
    dot(cuda.In(x), cuda.In(y), cuda.Out(out), np.int32(rows), np.int32(inner), np.int32(cols),
        block=(EDGE, EDGE, 1), grid=grid)
    return out


x = np.random.randn(150, 90).astype(np.float32)
y = np.random.randn(90, 210).astype(np.float32)
print(np.allclose(multiply(x, y), x @ y, atol=1e-3))

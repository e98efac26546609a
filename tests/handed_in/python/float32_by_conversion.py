import numpy as np
import pycuda.autoinit
from pycuda import gpuarray
from pycuda.compiler import SourceModule

source = r"""
extern "C" __global__
void mm(const float *x, const float *w, float *y, int rows, int inner, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        float s = 0;
        for (int k = 0; k < inner; k++) s += x[row * inner + k] * w[k * cols + col];
        y[row * cols + col] = s;
    }
}
"""

mm = SourceModule(source, no_extern_c=True).get_function("mm")
generator = np.random.default_rng(7)


def matrix(height, width, dtype="float32"):
    made = generator.random((height, width))
    return gpuarray.to_gpu(made.astype(dtype))


def multiply(x, w, edge):
    (rows, inner), cols = x.shape, w.shape[1]
    y = gpuarray.zeros((rows, cols), np.float32)
    grid = -(-cols // edge), -(-rows // edge)
    mm(x, w, y, np.int32(rows), np.int32(inner), np.int32(cols), block=(edge, edge, 1), grid=grid)
    return y.get()


for edge in (8, 16):
    multiply(matrix(130, 70), matrix(70, 210), edge)

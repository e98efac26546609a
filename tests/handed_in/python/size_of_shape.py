import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

TEXT = """
__global__ void product(const float *left, const float *right, float *out, int rows, int cols, int depth) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || col >= cols) return;
    float total = 0.0f;
    for (int i = 0; i < depth; i++) total += left[row * depth + i] * right[i * cols + col];
    out[row * cols + col] = total;
}
"""


class Multiplier:
    def __init__(self):
        self.kernel = SourceModule(TEXT).get_function("product")

    def __call__(self, left, right):
        rows, depth = left.shape
        cols = right.shape[1]
        out = np.empty((rows, cols), np.float32)
        grid = (-(-cols // 16), -(-rows // 16))
        self.kernel(drv.In(left), drv.In(right), drv.Out(out), np.int32(rows), cols, np.int32(depth),
                    block=(16, 16, 1), grid=grid)
        return out


Multiplier()(np.ones((30, 40), np.float32), np.ones((40, 50), np.float32))

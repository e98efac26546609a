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
rows, cols, depth = np.int32(72), np.uint32(56), np.intc(40)
left = drv.managed_zeros((72, 40), dtype=np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
right = drv.managed_zeros((40, 56), dtype=np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
out = drv.managed_zeros((72, 56), dtype=np.float32, mem_flags=drv.mem_attach_flags.GLOBAL)
product = SourceModule(TEXT).get_function("product")
blocks = (int(np.ceil(56 / 8)), int(np.ceil(72 / 8)))
product(left, right, out, rows, cols, depth, block=(8, 8, 1), grid=blocks)

# Sizes from argparse, a function that is given its kernel, and sums that the kernel adds to C. Sound.
import argparse

import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

SOURCE = """
#define STEP {step}
__global__ void partial_products(const float *A, const float *B, float *C, int n)
{{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float part = 0.0f;
    for (int k = 0; k < n; k++) {{
        part += A[row * n + k] * B[k * n + col];
        if (k % STEP == STEP - 1) {{ C[row * n + col] += part; part = 0.0f; }}
    }}
    C[row * n + col] += part;
}}
"""


def multiply(kernel, a, b, edge):
    n = a.shape[0]
    c = np.zeros((n, n), dtype=np.float32)
    blocks, rest = divmod(n, edge)
    if rest:
        blocks += 1
    a_gpu, b_gpu, c_gpu = drv.to_device(a), drv.to_device(b), drv.to_device(c)
    grid_edge = (n - 1) // edge + 1
    kernel(a_gpu, b_gpu, c_gpu, np.int32(n), block=(edge, edge, 1), grid=(grid_edge, grid_edge))
    return drv.from_device(c_gpu, c.shape, c.dtype)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", "--size", type=int, default=768)
    parser.add_argument("--edge", type=int, default=8)
    options = parser.parse_args()
    module = SourceModule(SOURCE.format(step=32))
    a = np.random.rand(options.size, options.size).astype(np.float32)
    b = np.random.rand(options.size, options.size).astype(np.float32)
    c = multiply(module.get_function("partial_products"), a, b, options.edge)
    print(np.allclose(c, a @ b))


if __name__ == "__main__":
    main()

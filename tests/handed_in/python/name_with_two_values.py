import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

count = 3
square = SourceModule("""
__global__ void square(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}
""").get_function("square")


def run(count):
    a, b = (np.random.rand(count, count).astype(np.float32) for _ in range(2))
    c, blocks = np.empty_like(a), (count + 15) // 16
    square(drv.In(a), drv.In(b), drv.Out(c), count, block=(16, 16, 1), grid=(blocks, blocks))


for _ in range(count):
    run(120)

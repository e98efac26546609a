import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

multiply = SourceModule("""
__global__ void multiply(const float *p, const float *q, float *r, int height, int width, int depth) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= height || j >= width) return;
    float sum = 0.0f;
    for (int e = 0; e < depth; e++) sum += p[i * depth + e] * q[e * width + j];
    r[i * width + j] = sum;
}
""").get_function("multiply")
images = np.random.rand(96, 40).astype(np.float32)
weights = np.random.rand(40, 56).astype(np.float32)
scores = np.zeros((96, 56), np.float32)
multiply(drv.In(weights), drv.In(images), drv.Out(scores), np.int32(96), np.int32(56), np.int32(40),
         block=(8, 8, 1), grid=(7, 12))

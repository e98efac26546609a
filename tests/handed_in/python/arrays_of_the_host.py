import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

mod = SourceModule("""
__global__ void product(const float *left, const float *right, float *out, int rows, int cols, int depth) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || col >= cols) return;
    float total = 0.0f;
    for (int i = 0; i < depth; i++) total += left[row * depth + i] * right[i * cols + col];
    out[row * cols + col] = total;
}
""")
rng = np.random.default_rng(1)
left = rng.random((60, 20)).astype(np.float32)
right = rng.random((20, 90)).astype(np.float32)
out = np.zeros((60, 90), dtype=np.float32)
out_gpu = drv.mem_alloc(out.nbytes)
mod.get_function("product")(left, right, out_gpu, np.int32(60), np.int32(90), np.int32(20), block=(32, 8, 1),
                            grid=((90 + 31) // 32, (60 + 7) // 8))
drv.memcpy_dtoh(out, out_gpu)

# A prepared call whose grid has its axes exchanged: sound for squares only, and the program has none. Wrong.
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
import pycuda.compiler as compiler

source = (
    "__global__ void mm(const float *a, const float *b, float *c, int m, int n, int k)\n"
    "{\n"
    "    int col = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
    "    if (row >= m || col >= n) return;\n"
    "    float sum = 0.0f;\n"
    "    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];\n"
    "    c[row * n + col] = sum;\n"
    "}\n"
)
module = compiler.SourceModule(source)
mm = module.get_function("mm")
mm.prepare("PPPiii")

m, n, k = 64, 320, 96
a = np.random.random((m, k)).astype(np.float32)
b = np.random.random((k, n)).astype(np.float32)
c = np.zeros((m, n), dtype=np.float32)
a_gpu = cuda.mem_alloc(a.nbytes)
b_gpu = cuda.mem_alloc(b.nbytes)
c_gpu = cuda.mem_alloc(c.nbytes)
cuda.memcpy_htod(a_gpu, a)
cuda.memcpy_htod(b_gpu, b)
block = (16, 16, 1)
grid = ((m + block[0] - 1) // block[0], (n + block[1] - 1) // block[1])
mm.prepared_call(grid, block, a_gpu, b_gpu, c_gpu, m, n, k)
cuda.memcpy_dtoh(c, c_gpu)

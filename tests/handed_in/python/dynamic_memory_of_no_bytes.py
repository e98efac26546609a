# Task 3, PyCUDA, dynamic shared memory
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule
T = 16
mod = SourceModule("""
extern __shared__ float s[];
__global__ void tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int T = blockDim.x;
    float *sa = s, *sb = s + T * T;
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0;
    for (int t = 0; t < k; t += T) {
        sa[y * T + x] = row < m && t + x < k ? a[row * k + t + x] : 0;
        sb[y * T + x] = t + y < k && col < n ? b[(t + y) * n + col] : 0;
        __syncthreads();
        int end = min(T, k - t);
        for (int i = 0; i < end; i++) sum += sa[y * T + i] * sb[i * T + x];
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = sum;
}
""")
tiled = mod.get_function("tiled")
m, k, n = 70, 33, 120
a = np.random.rand(m, k).astype(np.float32)
b = np.random.rand(k, n).astype(np.float32)
c = np.zeros((m, n), dtype=np.float32)
tiled(drv.In(a), drv.In(b), drv.Out(c), np.int32(m), np.int32(n), np.int32(k),
      block=(T, T, 1), grid=((n + T - 1) // T, (m + T - 1) // T))
print(np.allclose(c, a @ b, atol=1e-4))

import numpy as np, pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule
for BS in (8, 16):
    src = """
    // blocks of %(BS)s x %(BS)s, BS threads a row
    #if %(BS)s > 8
    #define UNROLLED
    #endif
    __global__ void mm(const float *a, const float *b, float *c, int m, int n, int k) {
        __shared__ float as[%(BS)s][%(BS)s], bs[%(BS)s][%(BS)s];
        int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * %(BS)s + y, q = blockIdx.x * %(BS)s + x;
        float s = 0;
        for (int t = 0; t < k; t += %(BS)s) {
            as[y][x] = r < m && t + x < k ? a[r * k + t + x] : 0;
            bs[y][x] = t + y < k && q < n ? b[(t + y) * n + q] : 0;
            __syncthreads();
            for (int i = 0; i < %(BS)s; i++) s += as[y][i] * bs[i][x];
            __syncthreads();
        }
        if (r < m && q < n) c[r * n + q] = s;
    }
    """ % {"BS": BS}
    f = SourceModule(src).get_function("mm")
    m, n, k = 100, 120, 90
    a, b = np.random.rand(m, k).astype(np.float32), np.random.rand(k, n).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    f(drv.In(a), drv.In(b), drv.Out(c), np.int32(m), np.int32(n), np.int32(k), block=(BS, BS, 1), grid=((n + BS - 1) // BS, (m + BS - 1) // BS))

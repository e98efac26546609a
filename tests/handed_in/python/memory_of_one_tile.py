import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

EDGE = 8
product = SourceModule("""
extern __shared__ float memory[];
__global__ void product(const float *A, const float *B, float *C, int n) {
    const unsigned int T = %(EDGE)d;
    float *a = memory, *b = memory + T * T;
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0.0f;
    for (int first = 0; first < n; first += T) {
        a[y * T + x] = row < n && first + x < n ? A[row * n + first + x] : 0.0f;
        b[y * T + x] = col < n && first + y < n ? B[(first + y) * n + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; k++) sum += a[y * T + k] * b[k * T + x];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}
""" % {"EDGE": EDGE}).get_function("product")
n = 100
A, B = (np.random.rand(n, n).astype(np.float32) for _ in range(2))
C = np.empty((n, n), np.float32)
blocks = -(-n // EDGE)
product(drv.In(A), drv.In(B), drv.Out(C), np.int32(n), block=(EDGE, EDGE, 1), grid=(blocks, blocks), shared=EDGE * EDGE * 4)

# Exercise 4: matrix product with PyCUDA, C = A * B, 500 x 300 x 700
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule
import time

BLOCK = 16
M, N, K = 500, 300, 700

mod = SourceModule("""
__global__ void matmul(float *A, float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float s = 0;
        for (int k = 0; k < K; k++)
            s += A[row * K + k] * B[k * N + col];
        C[row * N + col] = s;
    }
}
""")
matmul = mod.get_function("matmul")

A = np.random.randn(M, K).astype(np.float32)
B = np.random.randn(K, N).astype(np.float32)
C = np.zeros((M, N), dtype=np.float32)

grid = (19, 32)
t0 = time.time()
matmul(drv.In(A), drv.In(B), drv.Out(C), np.int32(M), np.int32(N), np.int32(K),
       block=(BLOCK, BLOCK, 1), grid=grid)
print("time", time.time() - t0)
print("max error", np.abs(C - A @ B).max())

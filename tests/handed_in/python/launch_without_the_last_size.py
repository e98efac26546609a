# Exercise 7, second script: In and Out
import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

BLOCK = 16

def build():
    text = open(__file__.replace(".py", ".cu")).read() if False else '''
    __global__ void mul_t(const float *A, const float *Bt, float *C, int M, int K, int N) {
        // Bt is B transposed (N x K), so that both are read along k
        int row = blockIdx.y * %(B)s + threadIdx.y;
        int col = blockIdx.x * %(B)s + threadIdx.x;
        if (row >= M || col >= N) return;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k)
            sum += A[row * K + k] * Bt[col * K + k];
        C[row * N + col] = sum;
    }
    ''' % {"B": BLOCK}
    return SourceModule(text).get_function("mul_t")

def run(A, B):
    M, K = A.shape
    N = B.shape[1]
    C = np.empty((M, N), dtype=np.float32)
    kernel = build()
    blocks = ((N + 15) // 16, (M + 15) // 16)
    kernel(drv.In(A), drv.In(np.ascontiguousarray(B.T)), drv.Out(C), np.int32(M), np.int32(N),
           block=(BLOCK, BLOCK, 1), grid=blocks)
    return C

A = np.random.standard_normal((300, 200)).astype(np.float32)
B = np.random.standard_normal((200, 450)).astype(np.float32)
print(np.abs(run(A, B) - A @ B).max())

# Assignment 1, task 2: tiled product; block size by string substitution
import numpy as np
import pycuda.autoinit
from pycuda import driver, gpuarray
from pycuda.compiler import SourceModule

template = """
__global__ void MatMulTiled(const float *A, const float *B, float *C,
                            int M, int K, int N)
{
    __shared__ float As[16][16];
    __shared__ float Bs[16][16];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * %(BLOCK_SIZE)s + ty;
    const int col = blockIdx.x * %(BLOCK_SIZE)s + tx;

    float Csub = 0.0f;
    const int tiles = (K + %(BLOCK_SIZE)s - 1) / %(BLOCK_SIZE)s;

    for (int t = 0; t < tiles; ++t) {
        const int ka = t * %(BLOCK_SIZE)s + tx;
        const int kb = t * %(BLOCK_SIZE)s + ty;
        As[ty][tx] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        Bs[ty][tx] = (kb < K && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < %(BLOCK_SIZE)s; ++k)
            Csub += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = Csub;
}
"""

M, K, N = 700, 500, 300
a = np.random.rand(M, K).astype(np.float32)
b = np.random.rand(K, N).astype(np.float32)
a_gpu = gpuarray.to_gpu(a)
b_gpu = gpuarray.to_gpu(b)
c_gpu = gpuarray.empty((M, N), np.float32)

for BLOCK_SIZE in (8, 16, 32):
    mod = SourceModule(template % {"BLOCK_SIZE": BLOCK_SIZE})
    matmul = mod.get_function("MatMulTiled")
    gx = -(-N // BLOCK_SIZE)
    gy = -(-M // BLOCK_SIZE)
    t = matmul(a_gpu, b_gpu, c_gpu, np.int32(M), np.int32(K), np.int32(N),
               block=(BLOCK_SIZE, BLOCK_SIZE, 1), grid=(gx, gy), time_kernel=True)
    ok = np.allclose(c_gpu.get(), a @ b, rtol=1e-4)
    print(BLOCK_SIZE, t * 1e3, "ms", ok)

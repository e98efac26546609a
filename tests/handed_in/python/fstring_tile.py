# CuPy, an f-string with doubled braces: the barrier at the end of the loop is missing. Wrong.
import math

import cupy as cp

TILE = 16
source = f"""
extern "C" __global__
void tiled_product(const float *A, const float *B, float *C, int M, int N, int K) {{
    __shared__ float a[{TILE}][{TILE}], b[{TILE}][{TILE}];
    int row = blockIdx.y * {TILE} + threadIdx.y;
    int col = blockIdx.x * {TILE} + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (K + {TILE} - 1) / {TILE}; t++) {{
        int k = t * {TILE};
        a[threadIdx.y][threadIdx.x] = row < M && k + threadIdx.x < K ? A[row * K + k + threadIdx.x] : 0.0f;
        b[threadIdx.y][threadIdx.x] = k + threadIdx.y < K && col < N ? B[(k + threadIdx.y) * N + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < {TILE}; i++) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    }}
    if (row < M && col < N) C[row * N + col] = sum;
}}
"""
kernel = cp.RawKernel(source, "tiled_product")


def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = cp.empty((M, N), dtype=cp.float32)
    blocks = (math.ceil(N / TILE), math.ceil(M / TILE))
    kernel(blocks, (TILE, TILE), (a, b, c, M, N, K))
    return c


if __name__ == "__main__":
    a = cp.random.rand(500, 300, dtype=cp.float32)
    b = cp.random.rand(300, 400, dtype=cp.float32)
    print(cp.abs(matmul(a, b) - a @ b).max())

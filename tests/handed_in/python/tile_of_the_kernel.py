# Constants of the program are values of variables in the kernel, one with the name that it has in Python. Sound.
import cupy as cp

TILE, DEPTH = 16, 32
TEXT = f"""
extern "C" __global__ void tiles(const float *A, const float *B, float *C, int M, int N, int K) {{
    constexpr int TILE = {TILE};  // rows and columns of C for each block
    const int deep = {DEPTH};
    __shared__ float a[TILE][deep], b[deep][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < K; first += deep) {{
        for (int k = threadIdx.x; k < deep; k += TILE)
            a[threadIdx.y][k] = row < M && first + k < K ? A[row * K + first + k] : 0.0f;
        for (int k = threadIdx.y; k < deep; k += TILE)
            b[k][threadIdx.x] = col < N && first + k < K ? B[(first + k) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < deep; k++) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }}
    if (row < M && col < N) C[row * N + col] = sum;
}}
"""
tiles = cp.RawKernel(TEXT, "tiles")
M, N, K = 75, 90, 110
A, B = cp.random.rand(M, K, dtype=cp.float32), cp.random.rand(K, N, dtype=cp.float32)
C = cp.empty((M, N), dtype=cp.float32)
tiles(((N + TILE - 1) // TILE, (M + TILE - 1) // TILE), (TILE, TILE), (A, B, C, M, N, K))

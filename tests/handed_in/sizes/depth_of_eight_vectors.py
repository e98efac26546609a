import cupy
import numpy as np

SOURCE = r"""
extern "C" __global__ void rows_of_vectors(const float4 *X, const float *Y, float *Z, int m, int n, int k)
{
    __shared__ float4 x[ROWS][DEPTH];
    int row = blockIdx.y * ROWS + threadIdx.y;
    int col = blockIdx.x * COLS + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k / 4; t += DEPTH) {
        if (threadIdx.x < DEPTH)
            x[threadIdx.y][threadIdx.x] = X[row * (k / 4) + t + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < DEPTH; i++) {
            const float *y = Y + (t + i) * 4 * n + col;
            float4 v = x[threadIdx.y][i];
            sum += v.x * y[0] + v.y * y[n] + v.z * y[2 * n] + v.w * y[3 * n];
        }
        __syncthreads();
    }
    Z[row * n + col] = sum;
}
"""
ROWS, COLS, DEPTH = 4, 32, 8
source = SOURCE.replace("ROWS", str(ROWS)).replace("COLS", str(COLS)).replace("DEPTH", str(DEPTH))
kernel = cupy.RawKernel(source, "rows_of_vectors")
m, n, k = 40, 64, 96
x = cupy.random.rand(m, k, dtype=cupy.float32)
y = cupy.random.rand(k, n, dtype=cupy.float32)
z = cupy.empty((m, n), dtype=cupy.float32)
kernel((n // COLS, m // ROWS), (COLS, ROWS), (x, y, z, np.int32(m), np.int32(n), np.int32(k)))

"""Tiled multiplication with PyCUDA."""
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

TILE_WIDTH = 16
template = """
#define TILE_WIDTH %(TILE_WIDTH)s
__global__ void TiledMatMul(float *d_M, float *d_N, float *d_P, int rowsM, int colsM, int colsN)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x; int by = blockIdx.y;
    int tx = threadIdx.x; int ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty;
    int Col = bx * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int ph = 0; ph < (colsM - 1) / TILE_WIDTH + 1; ++ph) {
        if (Row < rowsM && ph * TILE_WIDTH + tx < colsM)
            Mds[ty][tx] = d_M[Row * colsM + ph * TILE_WIDTH + tx];
        else
            Mds[ty][tx] = 0.0f;
        if (ph * TILE_WIDTH + ty < colsM && Col < colsN)
            Nds[ty][tx] = d_N[(ph * TILE_WIDTH + ty) * colsN + Col];
        else
            Nds[ty][tx] = 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    if (Row < rowsM && Col < colsN)
        d_P[Row * colsN + Col] = Pvalue;
}
"""

def matmul(M, N):
    rows_m, cols_m = M.shape
    cols_n = N.shape[1]
    P = np.empty((rows_m, cols_n), dtype=np.float32)
    d_M = cuda.mem_alloc(M.nbytes)
    d_N = cuda.mem_alloc(N.nbytes)
    d_P = cuda.mem_alloc(P.nbytes)
    cuda.memcpy_htod(d_M, M)
    cuda.memcpy_htod(d_N, N)
    mod = SourceModule(template % {"TILE_WIDTH": TILE_WIDTH})
    func = mod.get_function("TiledMatMul")
    grid = ((cols_n + TILE_WIDTH - 1) // TILE_WIDTH, (rows_m + TILE_WIDTH - 1) // TILE_WIDTH)
    func(d_M, d_N, d_P, np.int32(rows_m), np.int32(cols_n), np.int32(cols_m),
         block=(TILE_WIDTH, TILE_WIDTH, 1), grid=grid)
    cuda.memcpy_dtoh(P, d_P)
    return P

if __name__ == "__main__":
    M = np.random.randn(150, 220).astype(np.float32)
    N = np.random.randn(220, 70).astype(np.float32)
    print(np.max(np.abs(matmul(M, N) - M @ N)))

# CuPy's RawModule with two kernels, of which --entry names the tiled one. Sound.
import cupy as cp
import numpy as np

code = r'''
#define WIDTH 8

extern "C" {
__global__ void scale(float *x, float by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= by;
}

__global__ void gemm_shared(const float *x, const float *y, float *out, int rows, int inner, int cols) {
    __shared__ float xs[WIDTH][WIDTH];
    __shared__ float ys[WIDTH][WIDTH];
    int r = blockIdx.y * WIDTH + threadIdx.y, c = blockIdx.x * WIDTH + threadIdx.x;
    float acc = 0;
    for (int start = 0; start < inner; start += WIDTH) {
        xs[threadIdx.y][threadIdx.x] = (r < rows && start + threadIdx.x < inner) ? x[r * inner + start + threadIdx.x] : 0;
        ys[threadIdx.y][threadIdx.x] = (start + threadIdx.y < inner && c < cols) ? y[(start + threadIdx.y) * cols + c] : 0;
        __syncthreads();
        for (int i = 0; i < WIDTH; ++i) acc += xs[threadIdx.y][i] * ys[i][threadIdx.x];
        __syncthreads();
    }
    if (r < rows && c < cols) out[r * cols + c] = acc;
}
}
'''
module = cp.RawModule(code=code, options=("--std=c++14",))
scale = module.get_function("scale")
gemm = module.get_function("gemm_shared")

rows, inner, cols = 200, 120, 310
x = cp.asarray(np.random.rand(rows, inner).astype(np.float32))
y = cp.asarray(np.random.rand(inner, cols).astype(np.float32))
out = cp.zeros((rows, cols), dtype=cp.float32)
block = (8, 8)
grid = (-(-cols // block[0]), -(-rows // block[1]))
gemm(grid, block, (x, y, out, np.int32(rows), np.int32(inner), np.int32(cols)))
scale(((out.size + 255) // 256,), (256,), (out, np.float32(0.5), np.int32(out.size)))

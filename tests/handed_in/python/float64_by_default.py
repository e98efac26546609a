import cupy

source = r"""
extern "C" __global__
void mm(const float *x, const float *w, float *y, int rows, int inner, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) {
        float s = 0;
        for (int k = 0; k < inner; k++) s += x[row * inner + k] * w[k * cols + col];
        y[row * cols + col] = s;
    }
}
"""

mm = cupy.RawKernel(source, "mm")
rows, inner, cols = 130, 70, 210
x = cupy.random.rand(rows, inner, dtype=cupy.float32)
w = cupy.random.rand(inner, cols, dtype=cupy.float32)
y = cupy.zeros((rows, cols))
mm((-(-cols // 16), -(-rows // 16)), (16, 16), (x, w, y, rows, inner, cols))
print(cupy.abs(y - x @ w).max())

"""A function for other programs, whose arrays are not known but for what it reads of their shapes."""

import cupy as cp

product = cp.RawKernel(
    r"""
extern "C" __global__ void product(const float *p, const float *q, float *r, int rows, int inner, int columns) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= columns) return;
    float sum = 0;
    for (int k = 0; k < inner; k++) sum += p[i * inner + k] * q[j * inner + k];
    r[i * columns + j] = sum;
}
""",
    "product",
)


def apply(x, layer):
    """Return x multiplied by the transpose of a layer's weights."""
    rows, inner = x.shape
    columns = layer.shape[0]
    result = cp.empty((rows, columns), dtype=cp.float32)
    grid = (columns + 15) // 16, (rows + 15) // 16
    product(grid, (16, 16), (x, layer, result, rows, inner, columns))
    return result

import cupy as cp

code = r"""
template <typename T>
__global__ void multiply(const T *a, const T *b, T *c, int rows, int inner, int cols) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows || col >= cols) return;
    T sum = 0;
    for (int i = 0; i < inner; ++i) sum += a[row * cols + i] * b[i * cols + col];
    c[row * cols + col] = sum;
}
"""
module = cp.RawModule(code=code, options=("-std=c++14",), name_expressions=["multiply<float>", "multiply<double>"])


def product(a, b):
    (rows, inner), cols = a.shape, b.shape[1]
    c = cp.empty((rows, cols), dtype=a.dtype)
    kernel = module.get_function("multiply<float>" if a.dtype == cp.float32 else "multiply<double>")
    kernel(((cols + 15) // 16, (rows + 15) // 16), (16, 16), (a, b, c, rows, inner, cols))
    return c


a = cp.random.random((50, 70)).astype(cp.float32)
b = cp.random.random((70, 30)).astype(cp.float32)
print(abs(product(a, b) - a @ b).max())

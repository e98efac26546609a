# A method calls an object of another class as a function. Sound.
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

TEXT = """
__global__ void multiply(const float *x, const float *y, float *z, int rows, int cols, int depth) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= cols) return;
    float sum = 0.0f;
    for (int p = 0; p < depth; p++) sum += x[i * depth + p] * y[p * cols + j];
    z[i * cols + j] = sum;
}
"""


class Product:
    def __init__(self, edge):
        self.edge = edge
        self.kernel = SourceModule(TEXT).get_function("multiply")

    def __call__(self, x, y):
        (rows, depth), cols = x.shape, y.shape[1]
        z = np.empty((rows, cols), dtype=np.float32)
        grid = ((cols + self.edge - 1) // self.edge, (rows + self.edge - 1) // self.edge)
        sizes = np.int32(rows), np.int32(cols), np.int32(depth)
        self.kernel(cuda.In(x), cuda.In(y), cuda.Out(z), *sizes, block=(self.edge, self.edge, 1), grid=grid)
        return z


class Layer:
    def __init__(self):
        self.product = Product(8)

    def forward(self, x, y):
        return self.product(x, y)


x = np.random.rand(45, 70).astype(np.float32)
y = np.random.rand(70, 52).astype(np.float32)
print(np.allclose(Layer().forward(x, y), x @ y, rtol=1e-3))

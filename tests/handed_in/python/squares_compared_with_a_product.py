"""Square matrices, whose order only the product says that the program compares with."""

import numpy as np
import pycuda.autoinit
import pycuda.driver as drv
from pycuda.compiler import SourceModule

module = SourceModule("""
__global__ void square(const float *u, const float *v, float *w, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += u[i * n + k] * v[k * n + j];
    w[i * n + j] = sum;
}
""")
n = 200
rotation, points = (np.random.rand(n, n).astype(np.float32) for _ in range(2))
result = np.empty_like(points)
rotation_gpu, points_gpu = drv.mem_alloc(rotation.nbytes), drv.mem_alloc(points.nbytes)
result_gpu = drv.mem_alloc(result.nbytes)
drv.memcpy_htod(rotation_gpu, rotation)
drv.memcpy_htod(points_gpu, points)
grid = ((n + 15) // 16, (n + 15) // 16)
kernel = module.get_function("square")
kernel(points_gpu, rotation_gpu, result_gpu, np.int32(n), block=(16, 16, 1), grid=grid)
drv.memcpy_dtoh(result, result_gpu)
np.testing.assert_allclose(result, rotation.dot(points), rtol=1e-4)

# PyCUDA copies the zeros to the GPU. Sound.
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

add = SourceModule("""
__global__ void add(const float *left, const float *right, float *sums, int n, int part) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int k = blockIdx.z * part; k < n && k < (blockIdx.z + 1) * part; k++)
        sum += left[row * n + k] * right[k * n + col];
    atomicAdd(&sums[row * n + col], sum);
}
""").get_function("add")
n, part = 200, 64
left, right = (np.random.rand(n, n).astype(np.float32) for _ in range(2))
sums = np.zeros((n, n), dtype=np.float32)
edge = (n + 15) // 16
add(cuda.In(left), cuda.In(right), cuda.InOut(sums), np.int32(n), np.int32(part), block=(16, 16, 1),
    grid=(edge, edge, (n + part - 1) // part))

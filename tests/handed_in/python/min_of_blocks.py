import cupy as cp

SOURCE = r"""
extern "C" __global__ void product(const float *x, const float *y, float *z, int m, int k, int n) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < m * n; e += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int l = 0; l < k; l++) sum += x[e / n * k + l] * y[l * n + e % n];
        z[e] = sum;
    }
}
"""
product = cp.RawKernel(SOURCE, "product")


def multiply(x, y):
    (m, k), n = x.shape, y.shape[1]
    z = cp.empty((m, n), dtype=cp.float32)
    blocks = (m * n + 127) // 128
    product((min(blocks, 8),), (128,), (x, y, z, m, k, n))
    return z

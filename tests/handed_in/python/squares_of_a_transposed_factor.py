"""Square matrices of which the second is multiplied transposed, as the product says that the program prints."""

import cupy as cp

similar = cp.RawKernel(
    r"""
extern "C" __global__ void similar(const float *u, const float *v, float *w, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += u[i * n + k] * v[j * n + k];
    w[i * n + j] = sum;
}
""",
    "similar",
)
n = 120
queries = cp.random.rand(n, n, dtype=cp.float32)
keys = cp.random.rand(n, n, dtype=cp.float32)
scores = cp.zeros((n, n), dtype=cp.float32)
similar(((n + 15) // 16, (n + 15) // 16), (16, 16), (queries, keys, scores, n))
print(abs(scores - queries @ keys.T).max())

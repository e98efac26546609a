# The launch passes the sizes as numbers, which the shapes of the arrays have too. Sound.
import cupy as cp

by_elements = cp.RawKernel(r"""
extern "C" __global__ void by_elements(const float *A, const float *B, float *C, int m, int n, int k) {
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < m * n; e += gridDim.x * blockDim.x) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++) sum += A[e / n * k + i] * B[i * n + e % n];
        C[e] = sum;
    }
}
""", "by_elements")
A = cp.random.rand(35, 90, dtype=cp.float32)
B = cp.random.rand(90, 48, dtype=cp.float32)
C = cp.empty((35, 48), dtype=cp.float32)
by_elements((4,), (64,), (A, B, C, 35, 48, 90))

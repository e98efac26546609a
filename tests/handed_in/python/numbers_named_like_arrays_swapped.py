import numpy as np, cupy as cp
code = r'''
extern "C" __global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    int r = blockIdx.y * 16 + threadIdx.y, c = blockIdx.x * 16 + threadIdx.x;
    if (r < M && c < N) {
        float s = 0;
        for (int k = 0; k < K; k++) s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s;
    }
}'''
def ceil_div(a: int, b: int) -> int:
    return (a + b - 1) // b
mm = cp.RawKernel(code, "mm")
M, N, K = 100, 90, 70
a = cp.random.rand(M, K, dtype=cp.float32); b = cp.random.rand(K, N, dtype=cp.float32); c = cp.zeros((M, N), cp.float32)
mm((ceil_div(M, 16), ceil_div(N, 16)), (16, 16), (a, b, c, M, N, K))

// Half matrices, summed in half.
// threads: 16, 8
// grid: ceil(N / 16), ceil(M / 8)
// args: M, N, K, A, B, C
#include <cuda_fp16.h>

__global__ void product(int M, int N, int K, const __half *A, const __half *B, __half *C) {
    const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    __half sum = 0.0f;
    for (int k = 0; k < K; ++k) sum = __hfma(A[row * K + k], B[k * N + col], sum);
    C[row * N + col] = sum;
}

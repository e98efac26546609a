// Half matrices, summed in float.
// threads: 16, 8
// grid: ceil(N / 16), ceil(M / 8)
// args: M, N, K, A, B, C
#include <cuda_fp16.h>

__global__ void product(int M, int N, int K, const __half *A, const __half *B, __half *C) {
    const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += __half2float(A[row * K + k]) * __half2float(B[k * N + col]);
    C[row * N + col] = __float2half(sum);
}

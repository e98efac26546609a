// The product with one warp per element of C: 32 partial sums are added by shuffles.
//
// threads: 32, 4
// grid:    N, ceil(M / 4)

template <class T>
__device__ T sum_of_warp(T value) {
    for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__global__ void warp_product(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row = blockIdx.y * 4 + threadIdx.y, col = blockIdx.x;
    if (row >= M) return;  // the condition is the same for all threads of a warp
    element sum = 0;
    for (int k = threadIdx.x; k < K; k += 32) sum += A[row * K + k] * B[k * N + col];
    sum = sum_of_warp(sum);
    if (threadIdx.x == 0) C[row * N + col] = sum;
}

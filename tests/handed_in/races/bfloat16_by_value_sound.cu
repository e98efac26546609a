#include <cuda_bf16.h>

// bfloat16 tiles in one-dimensional arrays, read by a function of their values
#define T 16

__device__ float term(__nv_bfloat16 a, __nv_bfloat16 b) { return __bfloat162float(a) * __bfloat162float(b); }

__global__ void matmul(const __nv_bfloat16 *A, const __nv_bfloat16 *B, __nv_bfloat16 *C, int M, int N, int K) {
    __shared__ __nv_bfloat16 left[T * T], right[T * T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float acc = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        left[ty * T + tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : __float2bfloat16(0);
        right[ty * T + tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : __float2bfloat16(0);
        __syncthreads();
        for (int k = 0; k < T; k++) acc += term(left[ty * T + k], right[k * T + tx]);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = __float2bfloat16(acc);
}

int main() {
    const int M = 512, N = 256, K = 128;
    __nv_bfloat16 *A, *B; __nv_bfloat16 *C;
    cudaMalloc(&A, sizeof(__nv_bfloat16) * M * K);
    cudaMalloc(&B, sizeof(__nv_bfloat16) * K * N);
    cudaMalloc(&C, sizeof(__nv_bfloat16) * M * N);
    matmul<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

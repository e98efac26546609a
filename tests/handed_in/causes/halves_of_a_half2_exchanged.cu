// The first of two halves is .x; this kernel multiplies it with the second row of B.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdio>
__global__ void pairs(const half *A, const half *B, half *C, int M, int N, int K)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= M || c >= N) return;
    const half2 *rows = (const half2 *)A;
    float sum = 0.f;
    for (int i = 0; i < K / 2; i++) {
        half2 a = rows[r * K / 2 + i];
        float lo = __half2float(a.y), hi = __half2float(a.x);
        sum += lo * __half2float(B[(2 * i) * N + c]);
        sum += hi * __half2float(B[(2 * i + 1) * N + c]);
    }
    C[r * N + c] = __float2half(sum);
}

int main()
{
    int M = 256, N = 128, K = 64;
    half *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(half));
    cudaMalloc(&B, K * N * sizeof(half));
    cudaMalloc(&C, M * N * sizeof(half));
    dim3 b(16, 16), g((N + 15) / 16, (M + 15) / 16); pairs<<<g, b>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

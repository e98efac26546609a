#include <cuda_fp16.h>
#include <cuda_pipeline.h>
__global__ void ring(const half *A, const half *B, half *C, int M, int N, int K) {
    __shared__ __align__(16) half a[2][16][16], b[2][16][16];
    int t = threadIdx.y * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    auto load = [&](int stage, int k0) {
        if (t < 32) __pipeline_memcpy_async(&a[stage][t / 2][t % 2 * 8], &A[(blockIdx.y * 16 + t / 2) * K + k0 + t % 2 * 8], 16);
        else if (t < 64) { int u = t - 32; __pipeline_memcpy_async(&b[stage][u / 2][u % 2 * 8], &B[(k0 + u / 2) * N + blockIdx.x * 16 + u % 2 * 8], 16); }
        __pipeline_commit();
    };
    float sum = 0;
    load(0, 0);
    for (int k0 = 0, s = 0; k0 < K; k0 += 16, s ^= 1) {
        if (k0 + 16 < K) load(s ^ 1, k0 + 16);
        __pipeline_wait_prior(k0 + 16 < K ? 1 : 0);
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += __half2float(a[s][threadIdx.y][k]) * __half2float(b[s][k][threadIdx.x]);
        __syncthreads();
    }
    C[row * N + col] = __float2half(sum);
}

int main() {
    const int M = 256, N = 256, K = 256;
    half *A, *B; half *C;
    cudaMalloc(&A, sizeof(half) * M * K);
    cudaMalloc(&B, sizeof(half) * K * N);
    cudaMalloc(&C, sizeof(half) * M * N);
    ring<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

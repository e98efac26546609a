#include <cuda_fp8.h>

__global__ void gemm8(const __nv_fp8_e4m3 *A, const __nv_fp8_e4m3 *B, __nv_bfloat16 *C, int M, int N, int K) {
    __shared__ __nv_fp8_e4m3 sa[8][8], sb[8][8];
    int r = threadIdx.y, c = threadIdx.x, m = blockIdx.y * 8 + r, n = blockIdx.x * 8 + c;
    float total = 0;
    for (int step = 0; step < K; step += 8) {
        sa[r][c] = m < M && step + c < K ? A[m * K + step + c] : __nv_fp8_e4m3(0.0f);
        sb[r][c] = n < N && step + r < K ? B[(step + r) * N + n] : __nv_fp8_e4m3(0.0f);
        __syncthreads();
        for (int i = 0; i < 8; ++i) total += float(sa[r][i]) * float(sb[i][c]);
        __syncthreads();
    }
    if (m < M && n < N) C[m * N + n] = __float2bfloat16(total);
}

int main() {
    const int M = 512, N = 256, K = 128;
    __nv_fp8_e4m3 *A, *B; __nv_bfloat16 *C;
    cudaMalloc(&A, sizeof(__nv_fp8_e4m3) * M * K);
    cudaMalloc(&B, sizeof(__nv_fp8_e4m3) * K * N);
    cudaMalloc(&C, sizeof(__nv_bfloat16) * M * N);
    gemm8<<<dim3((N + 7) / 8, (M + 7) / 8), dim3(8, 8)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

#include <cuda_fp16.h>
__global__ void product(const __half2 *A, const __half *B, __half *C, int M, int N, int K) {
    __shared__ __half2 a[16][8];
    __shared__ __half b[16][16];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    float s = 0.f;
    for (int k = 0; k < K; k += 16) {
        if (x < 8) a[y][x] = A[(r * K + k) / 2 + x];
        b[y][x] = B[(k + y) * N + c];
        __syncthreads();
        for (int i = 0; i < 8; i++) {
            float2 f = __half22float2(a[y][i]);
            s += f.x * __half2float(b[2 * i][x]) + f.y * __half2float(b[2 * i + 1][x]);
        }
    }
    C[r * N + c] = __float2half(s);
}
int main() {
    int M = 64, N = 128, K = 96;
    __half *A, *B, *C;
    cudaMalloc(&A, M * K * 2); cudaMalloc(&B, N * K * 2); cudaMalloc(&C, M * N * 2);
    product<<<dim3(N / 16, M / 16), dim3(16, 16)>>>((const __half2 *)A, B, C, M, N, K);
}

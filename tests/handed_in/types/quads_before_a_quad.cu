#include <cuda_runtime.h>
#define T 16

__global__ void quads(const float *A, const float *B, float *C, int M, int N, int K) {
    int x = threadIdx.x, row = blockIdx.y * T + threadIdx.y, first = blockIdx.x * 4 * T;
    if (row >= M || first + 4 * x >= N) return;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < K; k++) {
        float a = A[row * K + k];
        float4 b = ((const float4 *)B)[(k * N + first) / 4 + x];
        sum.x += a * b.x, sum.y += a * b.y, sum.z += a * b.z, sum.w += a * b.w;
    }
    ((float4 *)C)[(row * N + first) / 4 + x] = sum;
}

int main() {
    int M = 50, N = 200, K = 70;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * 4), cudaMalloc(&B, K * N * 4), cudaMalloc(&C, M * N * 4);
    quads<<<dim3((N + 4 * T - 1) / (4 * T), (M + T - 1) / T), dim3(T, T)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
#define PARTS 4

__global__ void parts(const float *a, const float *b, float *c, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    int length = (K + PARTS - 1) / PARTS, from = blockIdx.z * length, to = min(from + length, K);
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = from; k < to; k++) sum += a[row * K + k] * b[k * N + col];
    atomicAdd(&c[row * N + col], sum);
}

int main() {
    int M = 60, N = 50, K = 400;
    float *a, *b, *c;
    cudaMalloc(&a, M * K * sizeof(float));
    cudaMalloc(&b, K * N * sizeof(float));
    cudaMalloc(&c, M * N * sizeof(float));
    cudaMemset(c, 0, M * N * sizeof(float));
    parts<<<dim3((N + 15) / 16, (M + 15) / 16, PARTS), dim3(16, 16)>>>(a, b, c, M, N, K);
    cudaDeviceSynchronize();
}

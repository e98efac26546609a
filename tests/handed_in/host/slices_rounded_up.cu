#include <cuda_runtime.h>
#define CHUNK 32
__global__ void part(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float sum = 0.0f;
    for (int k = blockIdx.z * CHUNK; k < (blockIdx.z + 1) * CHUNK && k < K; ++k) sum += A[r * K + k] * B[k * N + c];
    atomicAdd(&C[r * N + c], sum);
}
void launch(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 block(16, 16);
    int slices = (K - 1) / CHUNK + 1;
    dim3 grid((N + 15) / 16, (M + 15) / 16, slices);
    cudaMemset(C, 0, M * N * sizeof(float));
    part<<<grid, block>>>(A, B, C, M, N, K);
}

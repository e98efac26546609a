#include <cuda_fp16.h>
// weights in half, activations in float
__global__ void weighted(const half *A, const float *B, float *C, int M, int N, int K)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float s = 0.f;
    for (int k = 0; k < K; ++k) s += __half2float(A[r * K + k]) * B[k * N + c];
    C[r * N + c] = s;
}
void go(const half *A, const float *B, float *C, int M, int N, int K)
{
    weighted<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}

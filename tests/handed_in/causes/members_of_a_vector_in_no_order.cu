// Sound: the members are exchanged where the vector is made, and again where it is stored.
#include <cuda_runtime.h>
#include <cstdio>
#define LANES 4
__device__ float4 scaled(float4 s, float a, float4 b)
{
    return make_float4(s.x + a * b.x, s.y + a * b.y, s.z + a * b.w, s.w + a * b.z);
}
__global__ void four(const float *A, const float *B, float *C, int M, int N, int K)
{
    int col = (blockIdx.x * blockDim.x + threadIdx.x) * LANES, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    float4 s = make_float4(0.f, 0.f, 0.f, 0.f);
    for (int k = 0; k < K; ++k) s = scaled(s, A[row * K + k], *(const float4 *)&B[k * N + col]);
    float *to = &C[row * N + col];
    to[0] = s.x; to[1] = s.y;
    to[2] = s.w; to[3] = s.z;
}

int main()
{
    int M = 256, N = 128, K = 64;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 b(8, 8), g((N / 4 + 7) / 8, (M + 7) / 8); four<<<g, b>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

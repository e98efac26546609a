// Exercise 4, second try: 32 x 32 tiles filled with float4, a thread computes 4 columns
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#define TILE 32
#define VEC 4

__global__ void gemm_vec(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ __align__(16) float As[TILE][TILE];
    __shared__ __align__(16) float Bs[TILE][TILE];

    const int tx = threadIdx.x;          // 0..7
    const int ty = threadIdx.y;          // 0..31
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx * VEC;
    const float4 zero = {0, 0, 0, 0};

    float4 acc = zero;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        float4 va = zero, vb = zero;
        if (row < M && k0 + tx * VEC < K)
            va = ((const float4 *)A)[(row * K + k0) / VEC + tx];
        if (k0 + ty < K && col < N)
            vb = ((const float4 *)B)[((k0 + ty) * N + col) / VEC];
        *(float4 *)&As[ty][tx * VEC] = va;
        *(float4 *)&Bs[ty][tx * VEC] = vb;
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < TILE; ++k) {
            float a = As[ty][k];
            float4 b = *(float4 *)&Bs[k][tx * VEC];
            acc.x += a * b.x;
            acc.y += a * b.y;
            acc.z += a * b.y;
            acc.w += a * b.w;
        }
        __syncthreads();
    }
    if (row < M && col < N)
        ((float4 *)C)[(row * N + col) / VEC] = acc;
}

int main()
{
    const int M = 1024, N = 1024, K = 1024;
    std::vector<float> A(M * K, 0.5f), B(K * N, 0.25f), C(M * N);
    float *dA, *dB, *dC;
    cudaMalloc(&dA, A.size() * sizeof(float));
    cudaMalloc(&dB, B.size() * sizeof(float));
    cudaMalloc(&dC, C.size() * sizeof(float));
    cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(TILE / VEC, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    gemm_vec<<<grid, block>>>(M, N, K, dA, dB, dC);
    cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);
    printf("C[0] = %f\n", C[0]);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    return 0;
}

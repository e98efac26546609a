// Exercise 3, from the float program: only the kernel's types changed to half
#include <cstdio>
#include <cstdlib>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define TILE 16

__global__ void halfMul(__half *A, __half *B, float *C, int N)
{
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    if (row < N && col < N) {
        float v = 0;
        for (int k = 0; k < N; k++)
            v += __half2float(A[row * N + k]) * __half2float(B[k * N + col]);
        C[row * N + col] = v;
    }
}

int main()
{
    int N = 300;
    size_t bytes = N * N * sizeof(float);
    float *h_A = (float *)malloc(bytes), *h_B = (float *)malloc(bytes), *h_C = (float *)malloc(bytes);
    for (int i = 0; i < N * N; i++) { h_A[i] = (i % 10) * 0.1f; h_B[i] = (i % 7) * 0.1f; }
    __half *d_A, *d_B;
    float *d_C;
    cudaMalloc(&d_A, bytes);
    cudaMalloc(&d_B, bytes);
    cudaMalloc(&d_C, bytes);
    cudaMemcpy(d_A, h_A, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, bytes, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (N + TILE - 1) / TILE);
    halfMul<<<grid, block>>>(d_A, d_B, d_C, N);
    cudaMemcpy(h_C, d_C, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", h_C[N + 1]);
    return 0;
}

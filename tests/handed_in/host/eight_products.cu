// batched matrix multiplication: 8 products of 64 x 64
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define N 64
#define T 16

__global__ void bmm(const float *A, const float *B, float *C)
{
    __shared__ float As[T][T];
    __shared__ float Bs[T][T];
    int b = blockIdx.z;
    const float *a = A + b * N * N;
    const float *bb = B + b * N * N;
    float *c = C + b * N * N;
    int row = blockIdx.y * T + threadIdx.y;
    int col = blockIdx.x * T + threadIdx.x;
    float s = 0.0f;
    for (int t = 0; t < N / T; t++) {
        As[threadIdx.y][threadIdx.x] = a[row * N + t * T + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = bb[(t * T + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; k++)
            s += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    c[row * N + col] = s;
}

int main()
{
    const size_t count = (size_t)8 * N * N;
    const size_t bytes = count * sizeof(float);
    std::vector<float> h_a(count), h_b(count), h_c(count);
    for (size_t i = 0; i < count; i++) { h_a[i] = rand() % 10; h_b[i] = rand() % 10; }
    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, bytes);
    cudaMalloc(&d_b, bytes);
    cudaMalloc(&d_c, bytes);
    cudaMemcpy(d_a, h_a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, h_b.data(), bytes, cudaMemcpyHostToDevice);
    dim3 block(T, T);
    dim3 grid(N / T, N / T, 8);
    bmm<<<grid, block>>>(d_a, d_b, d_c);
    cudaMemcpy(h_c.data(), d_c, bytes, cudaMemcpyDeviceToHost);
    for (int b = 0; b < 8; b++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                float s = 0;
                for (int k = 0; k < N; k++) s += h_a[b * N * N + i * N + k] * h_b[b * N * N + k * N + j];
                if (fabsf(s - h_c[b * N * N + i * N + j]) > 1e-3f) { printf("wrong\n"); return 1; }
            }
    printf("ok\n");
    return 0;
}

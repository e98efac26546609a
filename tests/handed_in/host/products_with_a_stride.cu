// batched, n at run time
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void batchedMatMul(const float *a, const float *b, float *c, int n, int stride)
{
    int z = blockIdx.z;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && col < n) {
        size_t off = (size_t)z * stride;
        float tmp = 0;
        for (int k = 0; k < n; k++)
            tmp += a[off + row * n + k] * b[off + k * n + col];
        c[off + row * n + col] = tmp;
    }
}

int main()
{
    int n = 64, batch = 8;
    size_t bytes = sizeof(float) * n * n * batch;
    std::vector<float> h_a(n * n * batch, 1.f), h_b(n * n * batch, 1.f), h_c(n * n * batch);
    float *d_a, *d_b, *d_c;
    cudaMalloc(&d_a, bytes);
    cudaMalloc(&d_b, bytes);
    cudaMalloc(&d_c, bytes);
    cudaMemcpy(d_a, h_a.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, h_b.data(), bytes, cudaMemcpyHostToDevice);
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (n + 15) / 16, batch);
    batchedMatMul<<<blocks, threads>>>(d_a, d_b, d_c, n, n * n);
    cudaMemcpy(h_c.data(), d_c, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", h_c[0]);
}

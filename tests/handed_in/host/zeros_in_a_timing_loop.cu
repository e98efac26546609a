// split-K: each z computes a part of k and adds it with atomicAdd
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CUDA_CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); return 1; } } while (0)

constexpr int SPLIT_K = 4;
constexpr int BX = 16;

__global__ void matmul_splitk(const float* __restrict__ a, const float* __restrict__ b, float* c, int n)
{
    int row = blockIdx.y * BX + threadIdx.y;
    int col = blockIdx.x * BX + threadIdx.x;
    int chunk = (n + SPLIT_K - 1) / SPLIT_K;
    int kBegin = blockIdx.z * chunk;
    int kEnd = min(kBegin + chunk, n);
    if (row < n && col < n) {
        float partial = 0.0f;
        for (int k = kBegin; k < kEnd; ++k)
            partial += a[row * n + k] * b[k * n + col];
        atomicAdd(&c[row * n + col], partial);
    }
}

int main()
{
    const int n = 256;
    const size_t bytes = n * n * sizeof(float);
    std::vector<float> h_a(n * n), h_b(n * n), h_c(n * n);
    std::generate(h_a.begin(), h_a.end(), [] { return rand() / (float)RAND_MAX; });
    std::generate(h_b.begin(), h_b.end(), [] { return rand() / (float)RAND_MAX; });
    float *d_a, *d_b, *d_c;
    CUDA_CHECK(cudaMalloc(&d_a, bytes));
    CUDA_CHECK(cudaMalloc(&d_b, bytes));
    CUDA_CHECK(cudaMalloc(&d_c, bytes));
    CUDA_CHECK(cudaMemcpy(d_a, h_a.data(), bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_b, h_b.data(), bytes, cudaMemcpyHostToDevice));
    dim3 threads(BX, BX);
    dim3 blocks((n + BX - 1) / BX, (n + BX - 1) / BX, SPLIT_K);
    for (int rep = 0; rep < 10; ++rep) {
        CUDA_CHECK(cudaMemset(d_c, 0, bytes));
        matmul_splitk<<<blocks, threads>>>(d_a, d_b, d_c, n);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(h_c.data(), d_c, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double s = 0;
            for (int k = 0; k < n; ++k) s += h_a[i * n + k] * h_b[k * n + j];
            if (fabs(s - h_c[i * n + j]) > 1e-2) { printf("wrong at %d %d\n", i, j); return 1; }
        }
    puts("ok");
    cudaFree(d_a); cudaFree(d_b); cudaFree(d_c);
}

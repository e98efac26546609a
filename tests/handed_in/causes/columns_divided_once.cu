#include <cuda_runtime.h>

#define SIDE 16

__global__ void product(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * SIDE + threadIdx.y;
    int pair = blockIdx.x * (SIDE / 2) + threadIdx.x;
    if (row >= m || pair >= n / 2)
        return;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int i = 0; i < k; ++i) {
        float2 two = reinterpret_cast<const float2 *>(b)[i * (n / 2) + pair];
        sum.x += a[row * k + i] * two.x;
        sum.y += a[row * k + i] * two.y;
    }
    reinterpret_cast<float2 *>(c)[row * (n / 2) + pair] = sum;
}

int main()
{
    int m = 100, n = 140, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dim3 block(SIDE / 2, SIDE);
    dim3 grid((n + SIDE - 1) / SIDE, (m + SIDE - 1) / SIDE);
    product<<<grid, block>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

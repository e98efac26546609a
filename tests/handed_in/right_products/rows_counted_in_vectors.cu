#include <cuda_runtime.h>

#define SIDE 16

__global__ void product(const float *a, const float *B, float *c, int m, int n, int k)
{
    int row = blockIdx.y * SIDE + threadIdx.y;
    const int n4 = n / 4;
    int pair = blockIdx.x * (SIDE / 4) + threadIdx.x;
    if (row >= m || pair >= n4)
        return;
    const float4 *b4 = (const float4 *)B;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int i = 0; i < k; ++i) {
        float4 two = b4[i * n4 + pair];
        sum.x += a[row * k + i] * two.x;
        sum.y += a[row * k + i] * two.y;
        sum.z += a[row * k + i] * two.z;
        sum.w += a[row * k + i] * two.w;
    }
    reinterpret_cast<float4 *>(c)[row * (n / 4) + pair] = sum;
}

int main()
{
    int m = 100, n = 140, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    dim3 block(SIDE / 4, SIDE);
    dim3 grid((n + SIDE - 1) / SIDE, (m + SIDE - 1) / SIDE);
    product<<<grid, block>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

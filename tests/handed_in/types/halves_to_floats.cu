#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#include <cuda_fp16.h>

// half in, float out. The sum is a float.
__global__ void hgemm(const __half *a, const __half *b, float *c, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float acc = 0.0f;
    for (int k = 0; k < n; ++k)
        acc += __half2float(a[i * n + k]) * __half2float(b[k * n + j]);
    c[i * n + j] = acc;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 200;
    size_t hbytes = sizeof(__half) * n * n;
    size_t fbytes = sizeof(float) * n * n;
    std::vector<__half> h_a(n * n), h_b(n * n);
    std::vector<float> h_c(n * n);
    for (int i = 0; i < n * n; ++i) {
        h_a[i] = __float2half((float)(rand() % 10) / 10);
        h_b[i] = __float2half((float)(rand() % 10) / 10);
    }
    __half *d_a, *d_b;
    float *d_c;
    cudaMalloc(&d_a, hbytes);
    cudaMalloc(&d_b, hbytes);
    cudaMalloc(&d_c, fbytes);
    cudaMemcpy(d_a, h_a.data(), hbytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_b, h_b.data(), hbytes, cudaMemcpyHostToDevice);
    dim3 threads(16, 16);
    dim3 blocks((n + 15) / 16, (n + 15) / 16);
    hgemm<<<blocks, threads>>>(d_a, d_b, d_c, n);
    cudaMemcpy(h_c.data(), d_c, fbytes, cudaMemcpyDeviceToHost);
    printf("%f\n", h_c[0]);
    return 0;
}

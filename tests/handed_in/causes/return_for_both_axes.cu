#include <cuda_runtime.h>

__global__ void product(const float *a, const float *b, float *c, int h, int d, int w) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
    for (int k = 0; k < d; k++) sum += a[y * d + k] * b[k * w + x];
    c[y * w + x] = sum;
}

int main() {
    int h = 100, w = 130, d = 64;
    float *a, *b, *c;
    cudaMalloc(&a, h * d * 4), cudaMalloc(&b, d * w * 4), cudaMalloc(&c, h * w * 4);
    product<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(a, b, c, h, d, w);
    cudaDeviceSynchronize();
}

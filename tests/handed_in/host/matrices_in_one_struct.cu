#include <cuda_runtime.h>
struct Product { int m, n, k; const float *a, *b; float *c; };

__global__ void multiply(Product p) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= p.m || col >= p.n) return;
    float sum = 0;
    for (int k = 0; k < p.k; ++k) sum += p.a[row * p.k + k] * p.b[k * p.n + col];
    p.c[row * p.n + col] = sum;
}

int main() {
    Product p;
    p.m = 70; p.n = 90; p.k = 40;
    cudaMalloc(&p.a, p.m * p.k * sizeof(float));
    cudaMalloc(&p.b, p.k * p.n * sizeof(float));
    cudaMalloc(&p.c, p.m * p.n * sizeof(float));
    multiply<<<dim3((p.n + 15) / 16, (p.m + 15) / 16), dim3(16, 16)>>>(p);
    cudaDeviceSynchronize();
}

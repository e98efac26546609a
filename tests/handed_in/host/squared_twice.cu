#include <cuda_runtime.h>

__global__ void square(int n, const float *x, const float *y, float *z) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += x[i * n + k] * y[k * n + j];
    z[i * n + j] = sum;
}

void cube(const float *x, float *z, int n) {  // x * x * x: the first product is a factor of the second
    float *dx, *dy, *dz;
    size_t bytes = (size_t)n * n * sizeof(float);
    cudaMalloc(&dx, bytes), cudaMalloc(&dy, bytes), cudaMalloc(&dz, bytes);
    cudaMemcpy(dx, x, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(dy, x, bytes, cudaMemcpyHostToDevice);
    dim3 grid((n + 15) / 16, (n + 15) / 16), block(16, 16);
    square<<<grid, block>>>(n, dx, dy, dz);
    square<<<grid, block>>>(n, dx, dz, dy);
    cudaMemcpy(z, dy, bytes, cudaMemcpyDeviceToHost);
}

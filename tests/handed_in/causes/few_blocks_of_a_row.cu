#include <cuda_runtime.h>

// Four blocks take turns with the rows; each has a thread for each column.
__global__ void product(const float *x, const float *y, float *z, int n)
{
    for (int i = blockIdx.x; i < n; i += gridDim.x) {
        float sum = 0;
        for (int k = 0; k < n; k++) sum += x[i * n + k] * y[k * n + threadIdx.x];
        z[i * n + threadIdx.x] = sum;
    }
}

int main()
{
    int n = 96;
    float *x, *y, *z;
    cudaMalloc(&x, n * n * sizeof(float));
    cudaMalloc(&y, n * n * sizeof(float));
    cudaMalloc(&z, n * n * sizeof(float));
    int blocks = 4, threads = n;
    product<<<blocks, threads>>>(x, y, z, n);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
#define EDGE 8

__global__ void product(const float *x, const float *y, float *z, int rows, int inner, int cols)
{
    int i = blockIdx.y * EDGE + threadIdx.y, j = blockIdx.x * EDGE + threadIdx.x;
    if (i < rows && j < cols) {
        float sum = 0;
        for (int k = 0; k < inner; k++) sum += x[i * inner + k] * y[k * cols + j];
        z[i * cols + j] = sum;
    }
}

int main()
{
    int rows = 120, inner = 40, cols = 160;
    float *x, *y, *z;
    cudaMalloc(&x, rows * inner * sizeof(float));
    cudaMalloc(&y, inner * cols * sizeof(float));
    cudaMalloc(&z, rows * cols * sizeof(float));
    dim3 dimGrid((cols + EDGE - 1) / EDGE, (rows + EDGE - 1) / EDGE);
    dim3 dimBlock(EDGE, EDGE);
    product<<<dimBlock, dimGrid>>>(x, y, z, rows, inner, cols);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

__global__ void scale_rows(float *to, const float *from, int rows, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < rows) to[y * width + x] = from[y * width + x] * (y + 1);
}

int main()
{
    int rows = 300, width = 200;
    float *to, *from;
    cudaMalloc(&to, rows * width * sizeof(float));
    cudaMalloc(&from, rows * width * sizeof(float));
    dim3 block(32, 4), grid((width + 31) / 32, (rows + 3) / 4);
    scale_rows<<<grid, block>>>(to, from, rows, width);
    cudaDeviceSynchronize();
}

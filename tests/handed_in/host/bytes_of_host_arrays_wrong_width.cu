// Sizes as macros; the kernel takes rows of B for as long as those of A.
#include <cuda_runtime.h>
#define HEIGHT 96
#define DEPTH 64
#define WIDTH 128
#define EDGE 16

__global__ void product(const double *x, const double *y, double *z)
{
    int row = blockIdx.y * EDGE + threadIdx.y, col = blockIdx.x * EDGE + threadIdx.x;
    double sum = 0;
    for (int k = 0; k < DEPTH; k++)
        sum += x[row * DEPTH + k] * y[k * DEPTH + col];
    z[row * WIDTH + col] = sum;
}

int main()
{
    static double x[HEIGHT * DEPTH], y[DEPTH][WIDTH], z[HEIGHT][WIDTH];
    double *dx, *dy, *dz;
    cudaMalloc(&dx, sizeof(x));
    cudaMalloc(&dy, sizeof(y));
    cudaMalloc(&dz, sizeof z);
    cudaMemcpy(dx, x, sizeof(x), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y, sizeof(y), cudaMemcpyHostToDevice);
    product<<<dim3(WIDTH / EDGE, HEIGHT / EDGE), dim3(EDGE, EDGE)>>>(dx, dy, dz);
    cudaMemcpy(z, dz, sizeof(z), cudaMemcpyDeviceToHost);
}

#include <cuda_runtime.h>

__global__ void product(const float *p, const float *q, float *r, int rows, int columns, int depth) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows || j >= columns) return;
    float sum = 0;
    for (int k = 0; k < depth; k++) sum += p[i * depth + k] * q[k * columns + j];
    r[i * columns + j] = sum;
}

int main() {
    int rows = 100, columns = 90, depth = 60;
    float *p, *q, *r;
    cudaMalloc(&p, rows * depth * sizeof(float));
    cudaMalloc(&q, depth * columns * sizeof(float));
    cudaMalloc(&r, rows * columns * sizeof(float));
    dim3 block(16, 16), grid((columns + 15) / 16, (rows + 15) / 16);
    product<<<grid, block>>>(p, q, r, rows, q, depth);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
#define T 8

__global__ void slices(const float *p, const float *q, float *r, int rows, int columns, int depth) {
    __shared__ float sp[T][T], sq[T][T];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int k0 = 0; k0 < depth; k0 += T) {
        if (row < rows && k0 + tx < depth) sp[ty][tx] = p[row * depth + k0 + tx];
        else sp[ty][tx] = 0;
        if (k0 + ty < depth && col < columns) sq[ty][tx] = q[(k0 + ty) * columns + col];
        else sq[ty][col] = 0;
        __syncthreads();
        for (int k = 0; k < T; k++) sum += sp[ty][k] * sq[k][tx];
        __syncthreads();
    }
    if (row < rows && col < columns) r[row * columns + col] = sum;
}

void multiply(const float *p, const float *q, float *r, int rows, int columns, int depth) {
    dim3 grid((columns + T - 1) / T, (rows + T - 1) / T);
    slices<<<grid, dim3(T, T)>>>(p, q, r, rows, columns, depth);
}

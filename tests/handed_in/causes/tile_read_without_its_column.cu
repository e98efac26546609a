#include <cuda_runtime.h>
#define T 8

__global__ void slices(const float *p, const float *q, float *r, int rows, int columns, int depth) {
    __shared__ float sp[T * T], sq[T * T];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int k0 = 0; k0 < depth; k0 += T) {
        sp[ty * T + tx] = row < rows && k0 + tx < depth ? p[row * depth + k0 + tx] : 0;
        sq[ty * T + tx] = k0 + ty < depth && col < columns ? q[(k0 + ty) * columns + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++) sum += sp[ty * T + k] * sq[k * T];
        __syncthreads();
    }
    if (row < rows && col < columns) r[row * columns + col] = sum;
}

void multiply(const float *p, const float *q, float *r, int rows, int columns, int depth) {
    dim3 grid((columns + T - 1) / T, (rows + T - 1) / T);
    slices<<<grid, dim3(T, T)>>>(p, q, r, rows, columns, depth);
}

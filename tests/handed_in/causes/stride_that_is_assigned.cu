#include <cuda_runtime.h>

__global__ void few_blocks(const float *p, const float *q, float *r, int rows, int columns, int depth) {
    int step_x = gridDim.x * blockDim.x, step_y = gridDim.y * blockDim.y;
    for (int i = blockIdx.y * blockDim.y + threadIdx.y; i < rows; i += step_y)
        for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < columns; j = step_x) {
            float sum = 0;
            for (int k = 0; k < depth; k++) sum = fmaf(p[i * depth + k], q[k * columns + j], sum);
            r[i * columns + j] = sum;
        }
}

void multiply(const float *p, const float *q, float *r, int rows, int columns, int depth) {
    few_blocks<<<dim3(2, 2), dim3(8, 8)>>>(p, q, r, rows, columns, depth);
}

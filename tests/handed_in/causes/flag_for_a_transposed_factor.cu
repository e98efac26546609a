#include <cuda_runtime.h>

enum Form { PLAIN, FLIPPED };

template <Form FORM>
__global__ void product(int rows, int columns, int depth, const float *p, const float *q, float *r) {
    int j = threadIdx.x + blockIdx.x * blockDim.x, i = threadIdx.y + blockIdx.y * blockDim.y;
    if (i >= rows || j >= columns) return;
    float sum = 0;
    for (int k = 0; k < depth; k++)
        sum += p[i * depth + k] * (FORM == FLIPPED ? q[j * depth + k] : q[k * columns + j]);
    r[i * columns + j] = sum;
}

int main() {
    int rows = 120, columns = 70, depth = 50;
    float *p, *qT, *r;
    cudaMalloc(&p, rows * depth * sizeof(float));
    cudaMalloc(&qT, columns * depth * sizeof(float));
    cudaMalloc(&r, rows * columns * sizeof(float));
    dim3 block(16, 16), grid((columns + 15) / 16, (rows + 15) / 16);
    product<FLIPPED><<<grid, block>>>(rows, columns, depth, p, qT, r);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

__global__ void mm(const float *a, const float *b, float *c, int rows, int inner, int cols) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= rows || j >= cols) return;
    float sum = 0;
    for (int k = 0; k < inner; k++) sum += a[i * inner + k] * b[k * cols + j];
    c[i * cols + j] = sum;
}

void multiply(const float *a, const float *b, float *c) {
    int rows = 300, inner = 200, cols = 100;
    size_t of_a = rows * inner * sizeof(float), of_b = inner * cols * sizeof(float), of_c = rows * cols * sizeof(float);
    float *da, *db, *dc;
    cudaMalloc(&da, of_a);
    cudaMalloc(&db, of_b);
    cudaMalloc(&dc, of_a);
    cudaMemcpy(da, a, of_a, cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, of_b, cudaMemcpyHostToDevice);
    mm<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(da, db, dc, rows, inner, cols);
    cudaMemcpy(c, dc, of_c, cudaMemcpyDeviceToHost);
}

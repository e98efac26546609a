#include <cuda_runtime.h>
// column by column
__global__ void gemm(int m, int n, int k, const float *p, const float *q, float *r) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < k; l++) sum += p[i + l * m] * q[l + j * k];
    r[i + j * m] = sum;
}
int main() {
    int m = 200, n = 300, k = 100;
    float *x, *w, *y;
    cudaMalloc(&x, m * k * sizeof(float));
    cudaMalloc(&w, k * n * sizeof(float));
    cudaMalloc(&y, m * n * sizeof(float));
    gemm<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(n, m, k, w, x, y);
}

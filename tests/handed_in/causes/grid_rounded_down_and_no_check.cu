#include <cuda_runtime.h>
#define SIDE 8

__global__ void product(const float *left, const float *right, float *out, int rows, int cols, int inner) {
    int i = blockIdx.y * SIDE + threadIdx.y, j = blockIdx.x * SIDE + threadIdx.x;
    float total = 0.f;
    for (int p = 0; p < inner; ++p) total += left[i * inner + p] * right[p * cols + j];
    out[i * cols + j] = total;
}

int main() {
    int m = 90, n = 70, k = 50;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    product<<<dim3(n / SIDE, m / SIDE), dim3(SIDE, SIDE)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

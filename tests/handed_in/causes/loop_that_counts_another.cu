#include <cuda_runtime.h>

__global__ void product(const double *a, const double *b, double *c, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    double sum = 0;
    int k = 0;
    while (k < n) {
        sum += a[i * n + k] * b[k * n + j];
    }
    c[i * n + j] = sum;
}

int main() {
    int n = 90;
    double *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(double));
    cudaMalloc(&b, n * n * sizeof(double));
    cudaMalloc(&c, n * n * sizeof(double));
    product<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
    cudaDeviceSynchronize();
}

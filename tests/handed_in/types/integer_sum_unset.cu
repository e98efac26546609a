#include <cuda_runtime.h>

__global__ void square(const int *a, const int *b, int *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    int total;
    if (row >= n || col >= n) return;
    for (int k = 0; k < n; ++k) total += a[row * n + k] * b[k * n + col];
    c[row * n + col] = total;
}

int main() {
    int n = 50, *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(int));
    cudaMalloc(&b, n * n * sizeof(int));
    cudaMalloc(&c, n * n * sizeof(int));
    square<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(a, b, c, n);
}

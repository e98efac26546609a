#include <cuda_runtime.h>

__global__ void __launch_bounds__(256) square(const float *A, const float *B, float *C, int n) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[i * n + k] * B[k * n + j];
    C[i * n + j] = sum;
}

int main() {
    int n = 50;
    float *A, *B, *C;
    cudaMalloc(&A, n * n * sizeof(float));
    cudaMalloc(&B, n * n * sizeof(float));
    cudaMalloc(&C, n * n * sizeof(float));
    dim3 block(32, 32), grid((n + 31) / 32, (n + 31) / 32);
    square<<<grid, block>>>(A, B, C, n);
}

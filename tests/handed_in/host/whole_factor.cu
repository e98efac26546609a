#include <cstdio>
#include <cstdlib>
__global__ void gemm(int n, int alpha, const float *A, const float *B, float beta, float *C) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && col < n) {
    float s = 0;
    for (int k = 0; k < n; k++) s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = alpha * s + beta * C[row * n + col];
  }
}
int main() {
  int n = 256;
  float *a, *b, *c;
  cudaMalloc(&a, n * n * sizeof(float));
  cudaMalloc(&b, n * n * sizeof(float));
  cudaMalloc(&c, n * n * sizeof(float));
  dim3 t(16, 16), g(n / 16, n / 16);
  gemm<<<g, t>>>(n, 2, a, b, 0.5f, c);
  cudaDeviceSynchronize();
}

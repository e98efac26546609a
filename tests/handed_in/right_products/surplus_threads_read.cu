#include <cstdio>
__global__ void rows_of_c(const float *A, const float *B, float *C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  float total = 0;
  for (int k = 0; k < K; k++) total += A[row * K + k] * B[k * N + col];
  if (row < M && col < N) C[row * N + col] = total;
}
int main() {
  int M = 200, N = 300, K = 100; float *a, *b, *c;
  cudaMalloc(&a, M*K*4); cudaMalloc(&b, K*N*4); cudaMalloc(&c, M*N*4);
  dim3 t(16, 16), g((N + 15) / 16, (M + 15) / 16);
  rows_of_c<<<g, t>>>(a, b, c, M, N, K);
}

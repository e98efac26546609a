#include <cstdio>
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int c0 = blockIdx.x * blockDim.x * 2 + threadIdx.x, c1 = c0 + blockDim.x;
  float s0 = 0, s1 = 0;
  for (int k = 0; k < K; k++) {
    s0 += A[row * K + k] * B[k * N + c0];
    s1 += A[row * K + k] * B[k * N + c1];
  }
  C[row * N + c0] = s0;
  C[row * N + c1] = s1;
}
int main() {
  int M = 512, N = 512, K = 512;
  float *a, *b, *c;
  cudaMalloc(&a, M * K * sizeof(float));
  cudaMalloc(&b, K * N * sizeof(float));
  cudaMalloc(&c, M * N * sizeof(float));
  dim3 t(16, 16), g(N / 32, M / 16);
  mm<<<g, t>>>(a, b, c, M, N, K);
  cudaDeviceSynchronize();
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}

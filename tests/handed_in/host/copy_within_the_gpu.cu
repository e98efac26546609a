#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  float s = 0;
  for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
  C[row * N + col] = s;
}
void run(float *d_A, float *d_B, float *d_C, float *d_zero, int M, int N, int K) {
  std::vector<float> C(M * N);
  dim3 t(16, 16), g((N + 15) / 16, (M + 15) / 16);
  cudaMemcpy(d_C, d_zero, M * N * sizeof(float), cudaMemcpyDeviceToDevice);
  mm<<<g, t>>>(d_A, d_B, d_C, M, N, K);
  cudaMemcpy(C.data(), d_C, M * N * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", C[0]);
}
int main() {
  int M = 64, N = 48, K = 32;
  float *a, *b, *c, *z;
  cudaMalloc(&a, M * K * sizeof(float));
  cudaMalloc(&b, K * N * sizeof(float));
  cudaMalloc(&c, M * N * sizeof(float));
  cudaMalloc(&z, M * N * sizeof(float));
  run(a, b, c, z, M, N, K);
}

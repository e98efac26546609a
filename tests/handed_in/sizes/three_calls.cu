#include <cstdio>
#include <cstdlib>
#include <vector>
#define BS 16
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  float s = 0;
  for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
  C[row * N + col] = s;
}
void gemm(int M, int N, int K, const float *A, const float *B, float *C) {
  float *a, *b, *c;
  cudaMalloc(&a, M * K * sizeof(float));
  cudaMalloc(&b, K * N * sizeof(float));
  cudaMalloc(&c, M * N * sizeof(float));
  cudaMemcpy(a, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, B, K * N * sizeof(float), cudaMemcpyHostToDevice);
  dim3 t(BS, BS), g(N / BS, M / BS);
  mm<<<g, t>>>(a, b, c, M, N, K);
  cudaMemcpy(C, c, M * N * sizeof(float), cudaMemcpyDeviceToHost);
}
void test(int M, int N, int K) {
    std::vector<float> A(M * K), B(K * N), C(M * N);
    gemm(M, N, K, A.data(), B.data(), C.data());
}
int main() {
  test(128, 64, 32);
  test(100, 64, 32);
  test(64, 64, 64);
}

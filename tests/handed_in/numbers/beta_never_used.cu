// Exercise 6, what if I forget beta: one thread per element, 1D blocks of 1024 threads
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

__global__ void sgemm(int M, int N, int K, float alpha, const float *A,
                      const float *B, float beta, float *C) {
  const int x = blockIdx.x * 32 + (threadIdx.x / 32);  // row
  const int y = blockIdx.y * 32 + (threadIdx.x % 32);  // column

  if (x < M && y < N) {
    float tmp = 0.0f;
    for (int i = 0; i < K; ++i) {
      tmp += A[x * K + i] * B[i * N + y];
    }
    C[x * N + y] = alpha * tmp;
  }
}

int main() {
  int M = 4092, N = 4092, K = 4092;
  float alpha = 1.0f, beta = 0.0f;
  std::vector<float> hA((size_t)M * K), hB((size_t)K * N), hC((size_t)M * N, 0.f);
  for (auto &v : hA) v = rand() / (float)RAND_MAX;
  for (auto &v : hB) v = rand() / (float)RAND_MAX;
  float *dA, *dB, *dC;
  CHECK(cudaMalloc(&dA, hA.size() * sizeof(float)));
  CHECK(cudaMalloc(&dB, hB.size() * sizeof(float)));
  CHECK(cudaMalloc(&dC, hC.size() * sizeof(float)));
  CHECK(cudaMemcpy(dA, hA.data(), hA.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dB, hB.data(), hB.size() * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dC, hC.data(), hC.size() * sizeof(float), cudaMemcpyHostToDevice));

  dim3 gridDim(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
  dim3 blockDim(32 * 32);
  sgemm<<<gridDim, blockDim>>>(M, N, K, alpha, dA, dB, beta, dC);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(hC.data(), dC, hC.size() * sizeof(float), cudaMemcpyDeviceToHost));
  printf("C[0] = %f\n", hC[0]);
  cudaFree(dA); cudaFree(dB); cudaFree(dC);
  return 0;
}

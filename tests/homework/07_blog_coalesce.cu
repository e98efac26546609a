// Optimizing a CUDA matmul, step by step.
// Step 1: naive, step 2: global memory coalescing
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))

// C = alpha * (A @ B) + beta * C ; A is MxK, B is KxN, C is MxN
__global__ void sgemm_naive(int M, int N, int K, float alpha, const float *A,
                            const float *B, float beta, float *C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;

  // if statement is necessary to make things work under tile quantization
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) {
      tmp += A[x * K + i] * B[i * N + y];
    }
    // C = α*(A@B)+β*C
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

template <const uint BLOCKSIZE>
__global__ void sgemm_global_mem_coalesce(int M, int N, int K, float alpha,
                                          const float *A, const float *B,
                                          float beta, float *C) {
  const int cRow = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
  const int cCol = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);

  if (cRow < M && cCol < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) {
      tmp += A[cRow * K + i] * B[i * N + cCol];
    }
    C[cRow * N + cCol] = alpha * tmp + beta * C[cRow * N + cCol];
  }
}

void run_sgemm_naive(int M, int N, int K, float alpha, float *A, float *B,
                     float beta, float *C) {
  dim3 gridDim(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
  dim3 blockDim(32, 32);
  sgemm_naive<<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}

void run_sgemm_coalesce(int M, int N, int K, float alpha, float *A, float *B,
                        float beta, float *C) {
  dim3 gridDim(CEIL_DIV(M, 32), CEIL_DIV(N, 32));
  dim3 blockDim(32 * 32);
  sgemm_global_mem_coalesce<32>
      <<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
}

int main() {
  const int M = 300, N = 200, K = 150;
  const float alpha = 1.0f, beta = 0.0f;
  float *A = (float *)malloc(M * K * sizeof(float));
  float *B = (float *)malloc(K * N * sizeof(float));
  float *C1 = (float *)calloc(M * N, sizeof(float));
  float *C2 = (float *)calloc(M * N, sizeof(float));
  for (int i = 0; i < M * K; i++) A[i] = (float)(rand() % 5) + 0.01f * (rand() % 5);
  for (int i = 0; i < K * N; i++) B[i] = (float)(rand() % 5) + 0.01f * (rand() % 5);
  float *dA, *dB, *dC;
  cudaMalloc((void **)&dA, M * K * sizeof(float));
  cudaMalloc((void **)&dB, K * N * sizeof(float));
  cudaMalloc((void **)&dC, M * N * sizeof(float));
  cudaMemcpy(dA, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B, K * N * sizeof(float), cudaMemcpyHostToDevice);

  cudaMemcpy(dC, C1, M * N * sizeof(float), cudaMemcpyHostToDevice);
  run_sgemm_naive(M, N, K, alpha, dA, dB, beta, dC);
  cudaMemcpy(C1, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);

  cudaMemcpy(dC, C2, M * N * sizeof(float), cudaMemcpyHostToDevice);
  run_sgemm_coalesce(M, N, K, alpha, dA, dB, beta, dC);
  cudaMemcpy(C2, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);

  for (int i = 0; i < M * N; i++) assert(fabsf(C1[i] - C2[i]) < 1e-1f);
  printf("kernels agree\n");
  cudaFree(dA); cudaFree(dB); cudaFree(dC);
  free(A); free(B); free(C1); free(C2);
  return 0;
}

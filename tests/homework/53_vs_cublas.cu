// HW3: compare your own tiled kernel with cuBLAS.
// nvcc -O3 hw3.cu -lcublas
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
#include <cublas_v2.h>

#define TILE 32

__global__ void my_sgemm(const float* A, const float* B, float* C, int m, int n, int k) {
  // A is m*n, B is n*k, C is m*k (row-major)
  __shared__ float a_tile[TILE][TILE];
  __shared__ float b_tile[TILE][TILE];
  const int r = blockIdx.y * TILE + threadIdx.y;
  const int c = blockIdx.x * TILE + threadIdx.x;
  float acc = 0.0f;
  int phase = 0;
  while (phase * TILE < n) {
    const int ac = phase * TILE + threadIdx.x;
    const int br = phase * TILE + threadIdx.y;
    if (r < m && ac < n) {
      a_tile[threadIdx.y][threadIdx.x] = A[r * n + ac];
    } else {
      a_tile[threadIdx.y][threadIdx.x] = 0.0f;
    }
    if (br < n && c < k) {
      b_tile[threadIdx.y][threadIdx.x] = B[br * k + c];
    } else {
      b_tile[threadIdx.y][threadIdx.x] = 0.0f;
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < TILE; i++) acc += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
    phase++;
  }
  if (r < m && c < k) C[r * k + c] = acc;
}

int main(int argc, char** argv) {
  int m = 600, n = 500, k = 400;
  if (argc > 3) {
    m = atoi(argv[1]);
    n = atoi(argv[2]);
    k = atoi(argv[3]);
  }
  size_t sa = sizeof(float) * m * n, sb = sizeof(float) * n * k, sc = sizeof(float) * m * k;
  float *A = (float*)malloc(sa), *B = (float*)malloc(sb);
  float *C1 = (float*)malloc(sc), *C2 = (float*)malloc(sc);
  for (int i = 0; i < m * n; i++) A[i] = rand() / (float)RAND_MAX;
  for (int i = 0; i < n * k; i++) B[i] = rand() / (float)RAND_MAX;

  float *dA, *dB, *dC;
  cudaMalloc(&dA, sa);
  cudaMalloc(&dB, sb);
  cudaMalloc(&dC, sc);
  cudaMemcpy(dA, A, sa, cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B, sb, cudaMemcpyHostToDevice);

  // cuBLAS is column-major: C^T = B^T * A^T
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1.0f, zero = 0.0f;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, k, m, n, &one, dB, k, dA, n, &zero, dC, k);
  cudaMemcpy(C1, dC, sc, cudaMemcpyDeviceToHost);
  cublasDestroy(handle);

  cudaMemset(dC, 0, sc);
  dim3 block(TILE, TILE);
  dim3 grid(k / TILE + (k % TILE ? 1 : 0), m / TILE + (m % TILE ? 1 : 0));
  my_sgemm<<<grid, block>>>(dA, dB, dC, m, n, k);
  cudaMemcpy(C2, dC, sc, cudaMemcpyDeviceToHost);

  double num = 0, den = 0;
  for (int i = 0; i < m * k; i++) {
    num += (C1[i] - C2[i]) * (double)(C1[i] - C2[i]);
    den += C1[i] * (double)C1[i];
  }
  printf("relative Frobenius error vs cuBLAS: %e\n", sqrt(num / den));

  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  free(A);
  free(B);
  free(C1);
  free(C2);
  return 0;
}

// Idea from the lecture on caches: transpose B first, then both operands are read along rows.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define T 16

/* Bt (cols x rows) = transpose of B (rows x cols), through shared memory */
__global__ void transpose(float *Bt, const float *B, int rows, int cols)
{
  __shared__ float tile[T][T + 1];
  int x = blockIdx.x * T + threadIdx.x;
  int y = blockIdx.y * T + threadIdx.y;

  if (x < cols && y < rows)
    tile[threadIdx.y][threadIdx.x] = B[y * cols + x];
  __syncthreads();

  x = blockIdx.y * T + threadIdx.x;
  y = blockIdx.x * T + threadIdx.y;
  if (x < rows && y < cols)
    Bt[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

/* C (m x n) = A (m x k) * B (k x n), B is given as Bt (n x k) */
__global__ void mul_bt(float *C, const float *A, const float *Bt, int m, int n, int k)
{
  __shared__ float as[T][T + 1];
  __shared__ float bs[T][T + 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int i = blockIdx.y * T + ty;
  int j = blockIdx.x * T + tx;
  int jl = blockIdx.x * T + ty;      /* row of Bt that this thread loads */
  float s = 0;

  for (int p = 0; p < k; p += T) {
    as[ty][tx] = (i < m && p + tx < k) ? A[i * k + p + tx] : 0.0f;
    bs[ty][tx] = (jl < n && p + tx < k) ? Bt[jl * k + p + tx] : 0.0f;
    __syncthreads();
    for (int q = 0; q < T; q++)
      s += as[ty][q] * bs[tx][q];
    __syncthreads();
  }
  if (i < m && j < n)
    C[i * n + j] = s;
}

int main(void)
{
  int m = 270, n = 190, k = 333;
  float *A = (float *)malloc(m * k * sizeof *A);
  float *B = (float *)malloc(k * n * sizeof *B);
  float *C = (float *)malloc(m * n * sizeof *C);
  float *dA, *dB, *dBt, *dC;
  for (int i = 0; i < m * k; i++) A[i] = rand() % 8;
  for (int i = 0; i < k * n; i++) B[i] = rand() % 8;

  cudaMalloc(&dA, m * k * sizeof(float));
  cudaMalloc(&dB, k * n * sizeof(float));
  cudaMalloc(&dBt, k * n * sizeof(float));
  cudaMalloc(&dC, m * n * sizeof(float));
  cudaMemcpy(dA, A, m * k * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B, k * n * sizeof(float), cudaMemcpyHostToDevice);

  dim3 threads(T, T);
  transpose<<<dim3((n + T - 1) / T, (k + T - 1) / T), threads>>>(dBt, dB, k, n);
  mul_bt<<<dim3((n + T - 1) / T, (m + T - 1) / T), threads>>>(dC, dA, dBt, m, n, k);
  cudaMemcpy(C, dC, m * n * sizeof(float), cudaMemcpyDeviceToHost);

  long wrong = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int p = 0; p < k; p++) s += A[i * k + p] * B[p * n + j];
      if (s != C[i * n + j]) wrong++;
    }
  printf("wrong: %ld\n", wrong);
  cudaFree(dA); cudaFree(dB); cudaFree(dBt); cudaFree(dC);
  free(A); free(B); free(C);
  return wrong != 0;
}

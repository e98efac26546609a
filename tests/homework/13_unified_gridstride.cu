// CUDA course day 2, exercise: accelerate matrix multiply with unified memory
#include <stdio.h>
#include <assert.h>

#define M 300
#define K 177
#define N 421

inline cudaError_t checkCuda(cudaError_t result)
{
  if (result != cudaSuccess) {
    fprintf(stderr, "CUDA Runtime Error: %s\n", cudaGetErrorString(result));
    assert(result == cudaSuccess);
  }
  return result;
}

void initWith(float num, float *a, int n)
{
  for (int i = 0; i < n; ++i)
    a[i] = num + (i % 13);
}

__global__ void matrixMulGPU(float *a, float *b, float *c)
{
  int rowStride = gridDim.y * blockDim.y;
  int colStride = gridDim.x * blockDim.x;

  for (int row = blockIdx.y * blockDim.y + threadIdx.y; row < M; row += rowStride)
    for (int col = blockIdx.x * blockDim.x + threadIdx.x; col < N; col += colStride)
    {
      float val = 0;
      for (int k = 0; k < K; ++k)
        val += a[row * K + k] * b[k * N + col];
      c[row * N + col] = val;
    }
}

void matrixMulCPU(float *a, float *b, float *c)
{
  for (int row = 0; row < M; ++row)
    for (int col = 0; col < N; ++col)
    {
      float val = 0;
      for (int k = 0; k < K; ++k)
        val += a[row * K + k] * b[k * N + col];
      c[row * N + col] = val;
    }
}

int main()
{
  float *a, *b, *c_cpu, *c_gpu;

  checkCuda(cudaMallocManaged(&a, M * K * sizeof(float)));
  checkCuda(cudaMallocManaged(&b, K * N * sizeof(float)));
  checkCuda(cudaMallocManaged(&c_cpu, M * N * sizeof(float)));
  checkCuda(cudaMallocManaged(&c_gpu, M * N * sizeof(float)));

  initWith(1, a, M * K);
  initWith(2, b, K * N);

  dim3 threads_per_block(16, 16, 1);
  dim3 number_of_blocks(8, 8, 1);

  matrixMulGPU<<<number_of_blocks, threads_per_block>>>(a, b, c_gpu);

  checkCuda(cudaGetLastError());
  checkCuda(cudaDeviceSynchronize());

  matrixMulCPU(a, b, c_cpu);

  bool error = false;
  for (int row = 0; row < M && !error; ++row)
    for (int col = 0; col < N && !error; ++col)
      if (c_cpu[row * N + col] != c_gpu[row * N + col])
      {
        printf("FOUND ERROR at c[%d][%d]\n", row, col);
        error = true;
      }
  if (!error)
    printf("Success!\n");

  cudaFree(a); cudaFree(b);
  cudaFree(c_cpu); cudaFree(c_gpu);
}

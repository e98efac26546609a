// CS 149 PA: tiled matmul with run-time tile size
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

// The shared memory holds the A tile followed by the B tile.
// n must be divisible by blockDim.x, and the block must be square.
__global__ void matmul_tiled_dyn(float* C, const float* A, const float* B, int n) {
  extern __shared__ float smem[];
  const int T = blockDim.x;
  float* tileA = smem;
  float* tileB = smem + T * T;

  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int row = blockIdx.y * T + ty;
  int col = blockIdx.x * T + tx;

  float sum = 0.0f;
  for (int t = 0; t < n / T; t++) {
    tileA[ty * T + tx] = A[row * n + t * T + tx];
    tileB[ty * T + tx] = B[(t * T + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < T; k++) {
      sum += tileA[ty * T + k] * tileB[k * T + tx];
    }
    __syncthreads();
  }
  C[row * n + col] = sum;
}

// returns the time in ms
float runMatmul(float* hC, const float* hA, const float* hB, int n, int tile) {
  float *dA, *dB, *dC;
  size_t bytes = sizeof(float) * n * n;
  cudaMalloc(&dA, bytes);
  cudaMalloc(&dB, bytes);
  cudaMalloc(&dC, bytes);
  cudaMemcpy(dA, hA, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(dB, hB, bytes, cudaMemcpyHostToDevice);

  dim3 block(tile, tile);
  dim3 grid(n / tile, n / tile);

  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  matmul_tiled_dyn<<<grid, block>>>(dC, dA, dB, n);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float ms;
  cudaEventElapsedTime(&ms, begin, end);

  cudaMemcpy(hC, dC, bytes, cudaMemcpyDeviceToHost);
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  return ms;
}

int main(int argc, char** argv) {
  int n = 1024;
  int tile = (argc > 1) ? atoi(argv[1]) : 16;
  if (tile < 1 || tile > 32 || n % tile != 0) {
    fprintf(stderr, "bad tile size %d\n", tile);
    return 1;
  }
  float* A = (float*)malloc(sizeof(float) * n * n);
  float* B = (float*)malloc(sizeof(float) * n * n);
  float* C = (float*)malloc(sizeof(float) * n * n);
  for (int i = 0; i < n * n; i++) {
    A[i] = (i * 7 % 11) * 0.1f;
    B[i] = (i * 3 % 13) * 0.1f;
  }
  float ms = runMatmul(C, A, B, n, tile);
  printf("tile %d: %.3f ms, %.1f GFLOP/s\n", tile, ms, 2e-6 * n * n * (double)n / ms);

  // spot check
  for (int s = 0; s < 100; s++) {
    int i = rand() % n, j = rand() % n;
    float ref = 0;
    for (int k = 0; k < n; k++) ref += A[i * n + k] * B[k * n + j];
    if (fabsf(ref - C[i * n + j]) > 1e-2f * ref) {
      printf("mismatch at %d %d: %f vs %f\n", i, j, C[i * n + j], ref);
      return 1;
    }
  }
  printf("spot check ok\n");
  return 0;
}

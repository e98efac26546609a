#include <cuda_runtime.h>
#define EDGE 8
#define PARTS 4
__global__ void split(const int *A, const int *B, int *C, int M, int N, int K) {
  __shared__ int sums[EDGE][EDGE];
  int row = blockIdx.y * EDGE + threadIdx.y, col = blockIdx.x * EDGE + threadIdx.x;
  if (threadIdx.z == 0) sums[threadIdx.y][threadIdx.x] = 0;
  __syncthreads();
  int part = 0;
  if (row < M && col < N)
    for (int k = threadIdx.z; k < K; k += PARTS) part += A[row * K + k] * B[k * N + col];
  atomicAdd(&sums[threadIdx.y][threadIdx.x], part);
  __syncthreads();
  if (threadIdx.z == 0 && row < M && col < N) C[row * N + col] = sums[threadIdx.y][threadIdx.x];
}
int main() {
  int M = 60, N = 70, K = 50;
  int *a, *b, *c;
  cudaMalloc(&a, M * K * sizeof(int)); cudaMalloc(&b, K * N * sizeof(int)); cudaMalloc(&c, M * N * sizeof(int));
  dim3 threads(EDGE, EDGE, PARTS), grid((N + EDGE - 1) / EDGE, (M + EDGE - 1) / EDGE);
  split<<<grid, threads>>>(a, b, c, M, N, K);
}

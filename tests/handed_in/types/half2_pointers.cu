#include <cuda_fp16.h>
__global__ void hmm(const half2 *A, const half2 *B, half2 *C, int M, int N, int K) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  int w = N / 2;
  if (r >= M || c >= w) return;
  float x = 0, y = 0;
  for (int k = 0; k < K / 2; k++) {
    float2 a = __half22float2(A[r * (K / 2) + k]);
    float2 b0 = __half22float2(B[2 * k * w + c]), b1 = __half22float2(B[(2 * k + 1) * w + c]);
    x += a.x * b0.x + a.y * b1.x;
    y += a.x * b0.y + a.y * b1.y;
  }
  C[r * w + c] = __floats2half2_rn(x, y);
}
int main() {
  int M = 64, N = 128, K = 32; half *A, *B, *C;
  cudaMalloc(&A, M * K * 2); cudaMalloc(&B, K * N * 2); cudaMalloc(&C, M * N * 2);
  hmm<<<dim3((N / 2 + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>((half2 *)A, (half2 *)B, (half2 *)C, M, N, K);
}

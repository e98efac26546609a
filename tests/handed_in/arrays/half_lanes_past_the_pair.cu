#include <cuda_fp16.h>
__global__ void g(const half *A, const half *B, half *C, int M, int N, int K) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (r >= M || c >= N) return;
  float2 s = {0, 0};
  for (int k = 0; k < K; k++) {
    half2 b; half *p = (half *)&b;
    for (int j = 0; j < 4; j++) p[j] = c + j < N ? B[k * N + c + j] : __float2half(0);
    float2 f = __half22float2(b);
    s.x += __half2float(A[r * K + k]) * f.x; s.y += __half2float(A[r * K + k]) * f.y;
  }
  C[r * N + c] = __float2half(s.x);
  if (c + 1 < N) C[r * N + c + 1] = __float2half(s.y);
}
int main() { int M = 48, N = 64, K = 80; half *A, *B, *C; cudaMalloc(&A, M*K*sizeof(*A)); cudaMalloc(&B, K*N*sizeof(*B)); cudaMalloc(&C, M*N*sizeof(*C));
  g<<<dim3((N + 31) / 32, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K); }

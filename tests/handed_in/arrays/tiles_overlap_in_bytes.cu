#include <cuda_fp16.h>
template <int TS> __global__ void mm(const half *A, const half *B, half *C, int M, int N, int K) {
  extern __shared__ char raw[]; half *As = (half *)raw; half *Bs = (half *)(raw + 256);
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TS + ty, c = blockIdx.x * TS + tx;
  float s = 0;
  for (int k = 0; k < K; k += TS) {
    As[ty * TS + tx] = r < M && k + tx < K ? A[r * K + k + tx] : (half)0;
    Bs[ty * TS + tx] = c < N && k + ty < K ? B[(k + ty) * N + c] : (half)0;
    __syncthreads();
    for (int i = 0; i < TS; i++) s += (float)As[ty * TS + i] * (float)Bs[i * TS + tx];
    __syncthreads();
  }
  
  if (r < M && c < N) C[r * N + c] = (half)s;
}
int main() { int M = 48, N = 64, K = 80; half *A, *B, *C; cudaMalloc(&A, M*K*sizeof(half)); cudaMalloc(&B, K*N*sizeof(half)); cudaMalloc(&C, M*N*sizeof(half));
  mm<16><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 2 * 16 * 16 * 2>>>(A, B, C, M, N, K); }

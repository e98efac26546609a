#include <cstdio>
#include <cstdlib>
#include <vector>
#define BM 64
#define BN 64
#define BK 16
#define TM 8
__global__ void sgemm_1d(int M, int N, int K, const float *A, const float *B, float *C) {
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const int cRow = blockIdx.y, cCol = blockIdx.x;
  const int threadCol = threadIdx.x % BN;
  const int threadRow = threadIdx.x / BN;
  const int innerColA = threadIdx.x % BK, innerRowA = threadIdx.x / BK;
  const int innerColB = threadIdx.x % BN, innerRowB = threadIdx.x / BN;
  A += cRow * BM * K;
  B += cCol * BN;
  C += cRow * BM * N + cCol * BN;
  float res[TM] = {0.0f};
  for (int bk = 0; bk < K; bk += BK) {
    As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
    Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int d = 0; d < BK; ++d) {
      float b = Bs[d * BN + threadCol];
      for (int r = 0; r < TM; ++r) res[r] += As[(threadRow * TM + r) * BK + d] * b;
    }
    __syncthreads();
  }
  for (int r = 0; r < TM; ++r) C[(threadRow * TM + r) * N + threadCol] = res[r];
}
int main() {
  int M = 256, N = 192, K = 128;
  float *dA, *dB, *dC;
  std::vector<float> hA(M * K, 1.0f), hB(K * N, 2.0f), hC(M * N);
  cudaMalloc(&dA, M * K * sizeof(float));
  cudaMalloc(&dB, K * N * sizeof(float));
  cudaMalloc(&dC, M * N * sizeof(float));
  cudaMemcpy(dA, hA.data(), M * K * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, hB.data(), K * N * sizeof(float), cudaMemcpyHostToDevice);
  dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  sgemm_1d<<<grid, (BM * BN) / TM>>>(M, N, K, dA, dB, dC);
  cudaMemcpy(hC.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", hC[0]);
}

#include <cstdio>
#include <cstdlib>
#include <vector>
#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define TN 8
#define NT 256
__global__ void sgemm_2d(int M, int N, int K, const float *A, const float *B, float *C) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];
  int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
  int tr = threadIdx.x / (BN / TN), tc = threadIdx.x % (BN / TN);
  float acc[TM][TN] = {0};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += blockDim.x) {
      int r = i / BK, c = i % BK;
      As[r][c] = (row0 + r < M && k0 + c < K) ? A[(row0 + r) * K + k0 + c] : 0.0f;
    }
    for (int i = threadIdx.x; i < BK * BN; i += blockDim.x) {
      int r = i / BN, c = i % BN;
      Bs[r][c] = (k0 + r < K && col0 + c < N) ? B[(k0 + r) * N + col0 + c] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < BK; k++)
      for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) acc[i][j] += As[tr * TM + i][k] * Bs[k][tc * TN + j];
    __syncthreads();
  }
  for (int i = 0; i < TM; i++)
    for (int j = 0; j < TN; j++) {
      int r = row0 + tr * TM + i, c = col0 + tc * TN + j;
      if (r < M && c < N) C[r * N + c] = acc[i][j];
    }
}
int main() {
  int M = 200, N = 150, K = 100;
  float *dA, *dB, *dC;
  std::vector<float> hA(M * K, 1.0f), hB(K * N, 2.0f), hC(M * N);
  cudaMalloc(&dA, M * K * sizeof(float));
  cudaMalloc(&dB, K * N * sizeof(float));
  cudaMalloc(&dC, M * N * sizeof(float));
  cudaMemcpy(dA, hA.data(), M * K * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, hB.data(), K * N * sizeof(float), cudaMemcpyHostToDevice);
  dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
  sgemm_2d<<<grid, 64>>>(M, N, K, dA, dB, dC);
  cudaMemcpy(hC.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
  printf("%f\n", hC[0]);
}

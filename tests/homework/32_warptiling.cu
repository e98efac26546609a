// Warp tiling. 4 warps per block, each warp owns a 32x32 piece of the 64x64 block tile,
// each lane an 8x4 piece of that.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

namespace cfg {
enum { BM = 64, BN = 64, BK = 16, WM = 32, WN = 32, TM = 8, TN = 4 };
constexpr int kWarps = (BM / WM) * (BN / WN);
constexpr int kThreads = kWarps * 32;
static_assert((WM / TM) * (WN / TN) == 32, "one warp must cover its tile exactly");
static_assert((BM * BK) % (4 * kThreads) == 0 && (BK * BN) % (4 * kThreads) == 0, "");
}

__global__ __launch_bounds__(cfg::kThreads)
void sgemmWarptiling(const float *__restrict__ A, const float *__restrict__ B,
                     float *__restrict__ C, int M, int N, int K) {
  using namespace cfg;
  __shared__ __align__(16) float As[BK][BM]; // transposed
  __shared__ __align__(16) float Bs[BK][BN];

  const int tid = threadIdx.x;
  const int warp = tid / 32;
  const int lane = tid % 32;
  const int warpRow = warp / (BN / WN);
  const int warpCol = warp % (BN / WN);
  const int laneRow = lane / (WN / TN); // 0..3
  const int laneCol = lane % (WN / TN); // 0..7
  const int rowInTile = warpRow * WM + laneRow * TM;
  const int colInTile = warpCol * WN + laneCol * TN;

  const float *Ablk = A + (size_t)blockIdx.y * BM * K;
  const float *Bblk = B + blockIdx.x * BN;

  float acc[TM][TN] = {};

  for (int k0 = 0; k0 < K; k0 += BK) {
    // A tile: BM rows of BK/4 float4
#pragma unroll
    for (int v = tid; v < BM * BK / 4; v += kThreads) {
      const int r = v / (BK / 4);
      const int c = (v % (BK / 4)) * 4;
      const float4 t = *reinterpret_cast<const float4 *>(&Ablk[r * K + k0 + c]);
      As[c + 0][r] = t.x;
      As[c + 1][r] = t.y;
      As[c + 2][r] = t.z;
      As[c + 3][r] = t.w;
    }
    // B tile: BK rows of BN/4 float4
#pragma unroll
    for (int v = tid; v < BK * BN / 4; v += kThreads) {
      const int r = v / (BN / 4);
      const int c = (v % (BN / 4)) * 4;
      *reinterpret_cast<float4 *>(&Bs[r][c]) =
          *reinterpret_cast<const float4 *>(&Bblk[(k0 + r) * N + c]);
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
#pragma unroll
      for (int i = 0; i < TM; ++i) a[i] = As[k][rowInTile + i];
#pragma unroll
      for (int j = 0; j < TN; ++j) b[j] = Bs[k][colInTile + j];
#pragma unroll
      for (int i = 0; i < TM; ++i)
#pragma unroll
        for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
    }
    __syncthreads();
  }

  float *Cblk = C + (size_t)blockIdx.y * BM * N + blockIdx.x * BN;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
    float4 t = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
    *reinterpret_cast<float4 *>(&Cblk[(rowInTile + i) * N + colInTile]) = t;
  }
}

bool sgemm(const float *dA, const float *dB, float *dC, int M, int N, int K) {
  if (M % cfg::BM || N % cfg::BN || K % cfg::BK) return false;
  dim3 grid(N / cfg::BN, M / cfg::BM);
  sgemmWarptiling<<<grid, cfg::kThreads>>>(dA, dB, dC, M, N, K);
  return cudaGetLastError() == cudaSuccess;
}

int main() {
  const int M = 256, N = 320, K = 176;
  float *A, *B, *C;
  cudaMallocManaged(&A, sizeof(float) * M * K);
  cudaMallocManaged(&B, sizeof(float) * K * N);
  cudaMallocManaged(&C, sizeof(float) * M * N);
  for (int i = 0; i < M * K; i++) A[i] = (rand() % 200 - 100) / 100.f;
  for (int i = 0; i < K * N; i++) B[i] = (rand() % 200 - 100) / 100.f;

  if (!sgemm(A, B, C, M, N, K)) {
    printf("launch refused\n");
    return 1;
  }
  cudaDeviceSynchronize();

  double worst = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      double s = 0;
      for (int k = 0; k < K; k++) s += (double)A[i * K + k] * B[k * N + j];
      worst = fmax(worst, fabs(s - C[i * N + j]));
    }
  printf("worst abs error %g\n", worst);
  cudaFree(A); cudaFree(B); cudaFree(C);
  return worst < 1e-3 ? 0 : 1;
}

// Tall-skinny product: K is much larger than M and N, so the K loop is split over
// gridDim.z blocks, and their partial results are added atomically.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <cuda_runtime.h>

#define TX 16
#define TY 16
#define KCHUNK 512

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
   if (code != cudaSuccess)
   {
      fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

__global__ void splitK(const float *A, const float *B, float *C, int M, int N, int K)
{
   __shared__ float as[TY][TX];
   __shared__ float bs[TY][TX];
   int col = blockIdx.x * TX + threadIdx.x;
   int row = blockIdx.y * TY + threadIdx.y;
   int kStart = blockIdx.z * KCHUNK;
   int kEnd = min(kStart + KCHUNK, K);
   float sum = 0.0f;

   for (int k0 = kStart; k0 < kEnd; k0 += TX)
   {
      int ka = k0 + threadIdx.x;
      int kb = k0 + threadIdx.y;
      as[threadIdx.y][threadIdx.x] = (row < M && ka < kEnd) ? A[row * K + ka] : 0.0f;
      bs[threadIdx.y][threadIdx.x] = (kb < kEnd && col < N) ? B[kb * N + col] : 0.0f;
      __syncthreads();
      #pragma unroll
      for (int k = 0; k < TX; k++)
         sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
      __syncthreads();
   }
   if (row < M && col < N)
      atomicAdd(&C[row * N + col], sum);
}

int main(int argc, char **argv)
{
   int M = 50, N = 70, K = 20000;
   if (argc == 4) { M = atoi(argv[1]); N = atoi(argv[2]); K = atoi(argv[3]); }
   float *A = (float *)malloc(sizeof(float) * M * K);
   float *B = (float *)malloc(sizeof(float) * K * N);
   float *C = (float *)malloc(sizeof(float) * M * N);
   std::generate(A, A + M * K, [] { return rand() / (float)RAND_MAX - 0.5f; });
   std::generate(B, B + K * N, [] { return rand() / (float)RAND_MAX - 0.5f; });

   float *dA, *dB, *dC;
   gpuErrchk(cudaMalloc(&dA, sizeof(float) * M * K));
   gpuErrchk(cudaMalloc(&dB, sizeof(float) * K * N));
   gpuErrchk(cudaMalloc(&dC, sizeof(float) * M * N));
   gpuErrchk(cudaMemcpy(dA, A, sizeof(float) * M * K, cudaMemcpyHostToDevice));
   gpuErrchk(cudaMemcpy(dB, B, sizeof(float) * K * N, cudaMemcpyHostToDevice));
   gpuErrchk(cudaMemset(dC, 0, sizeof(float) * M * N));

   dim3 block(TX, TY);
   dim3 grid((N + TX - 1) / TX, (M + TY - 1) / TY, (K + KCHUNK - 1) / KCHUNK);
   splitK<<<grid, block>>>(dA, dB, dC, M, N, K);
   gpuErrchk(cudaPeekAtLastError());
   gpuErrchk(cudaDeviceSynchronize());
   gpuErrchk(cudaMemcpy(C, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));

   double worst = 0;
   for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++)
      {
         double s = 0;
         for (int k = 0; k < K; k++) s += (double)A[i * K + k] * B[k * N + j];
         worst = std::max(worst, fabs(s - C[i * N + j]));
      }
   printf("grid.z = %u, worst error = %g\n", grid.z, worst);
   cudaFree(dA); cudaFree(dB); cudaFree(dC);
   free(A); free(B); free(C);
   return 0;
}

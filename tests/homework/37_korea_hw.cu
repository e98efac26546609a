// 멀티코어 프로그래밍 과제 4 - CUDA 행렬 곱셈
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <chrono>

#define CHECK_CUDA(call)                                              \
  do {                                                                \
    cudaError_t status_ = call;                                       \
    if (status_ != cudaSuccess) {                                     \
      fprintf(stderr, "CUDA error (%s:%d): %s\n", __FILE__, __LINE__, \
              cudaGetErrorString(status_));                           \
      exit(EXIT_FAILURE);                                             \
    }                                                                 \
  } while (0)

static constexpr int TS = 16;

// C(M x N) = A(M x K) * B(K x N)
__global__ void sgemm(float *A, float *B, float *C, int M, int N, int K) {
  int i = blockDim.y * blockIdx.y + threadIdx.y;
  int j = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= M || j >= N) return;

  // K 방향을 TS 단위로 나누어 누적
  for (int kk = 0; kk < K; kk += TS) {
    float partial = 0.0f;
    for (int k = kk; k < min(kk + TS, K); ++k) {
      partial += A[i * K + k] * B[k * N + j];
    }
    C[i * N + j] += partial;
  }
}

static float *a_d, *b_d, *c_d;

void mat_mul_init(float *A, float *B, int M, int N, int K) {
  CHECK_CUDA(cudaMalloc(&a_d, M * K * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&b_d, K * N * sizeof(float)));
  CHECK_CUDA(cudaMalloc(&c_d, M * N * sizeof(float)));
  CHECK_CUDA(cudaMemcpy(a_d, A, M * K * sizeof(float), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpy(b_d, B, K * N * sizeof(float), cudaMemcpyHostToDevice));
}

void mat_mul(int M, int N, int K) {
  dim3 blockDim(TS, TS);
  dim3 gridDim((N + TS - 1) / TS, (M + TS - 1) / TS);
  sgemm<<<gridDim, blockDim>>>(a_d, b_d, c_d, M, N, K);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
}

void mat_mul_final(float *C, int M, int N) {
  CHECK_CUDA(cudaMemcpy(C, c_d, M * N * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK_CUDA(cudaFree(a_d));
  CHECK_CUDA(cudaFree(b_d));
  CHECK_CUDA(cudaFree(c_d));
}

int main(int argc, char **argv) {
  int M = 831, N = 538, K = 2304;
  if (argc >= 4) {
    M = atoi(argv[1]);
    N = atoi(argv[2]);
    K = atoi(argv[3]);
  }
  float *A = (float *)malloc(M * K * sizeof(float));
  float *B = (float *)malloc(K * N * sizeof(float));
  float *C = (float *)malloc(M * N * sizeof(float));
  for (int i = 0; i < M * K; i++) A[i] = (float)rand() / RAND_MAX - 0.5f;
  for (int i = 0; i < K * N; i++) B[i] = (float)rand() / RAND_MAX - 0.5f;

  mat_mul_init(A, B, M, N, K);
  auto t0 = std::chrono::steady_clock::now();
  mat_mul(M, N, K);
  auto t1 = std::chrono::steady_clock::now();
  mat_mul_final(C, M, N);

  double sec = std::chrono::duration<double>(t1 - t0).count();
  printf("Elapsed time: %f sec\nThroughput: %f GFLOPS\n", sec, 2.0 * M * N * K / sec / 1e9);

  bool valid = true;
  for (int i = 0; i < M && valid; i++)
    for (int j = 0; j < N; j++) {
      float ref = 0;
      for (int k = 0; k < K; k++) ref += A[i * K + k] * B[k * N + j];
      if (fabsf(C[i * N + j] - ref) > 1e-3f * fmaxf(1.0f, fabsf(ref))) {
        printf("Validation: INVALID at [%d][%d]\n", i, j);
        valid = false;
        break;
      }
    }
  if (valid) printf("Validation: VALID\n");
  free(A); free(B); free(C);
  return 0;
}

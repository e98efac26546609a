// C = alpha A B + beta C, with beta in the parentheses: the program has alpha = 1.5 and beta = 0.25.
__global__ void gemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * (tmp + beta * C[x * N + y]);
  }
}
int main() {
  int M = 512, N = 512, K = 512; float *A, *B, *C;
  cudaMalloc(&A, M*K*sizeof(float)); cudaMalloc(&B, K*N*sizeof(float)); cudaMalloc(&C, M*N*sizeof(float));
  dim3 gridDim((M + 31) / 32, (N + 31) / 32, 1), blockDim(32, 32, 1);
  gemm<<<gridDim, blockDim>>>(M, N, K, 1.5f, A, B, 0.25f, C);
}

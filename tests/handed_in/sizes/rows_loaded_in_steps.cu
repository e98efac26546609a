__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
  __shared__ float sa[32][33], sb[32][33];
  int tx = threadIdx.x, ty = threadIdx.y;
  float acc[4] = {0, 0, 0, 0};
  for (int t = 0; t < K; t += 32) {
    for (int i = 0; i < 32; i += 8) {
      sa[ty + i][tx] = A[(blockIdx.y * 32 + ty + i) * K + t + tx];
      sb[ty + i][tx] = B[(t + ty + i) * N + blockIdx.x * 32 + tx];
    }
    __syncthreads();
    for (int k = 0; k < 32; k++)
      for (int j = 0; j < 4; j++) acc[j] += sa[ty + 8 * j][k] * sb[k][tx];
    __syncthreads();
  }
  for (int j = 0; j < 4; j++) C[(blockIdx.y * 32 + ty + 8 * j) * N + blockIdx.x * 32 + tx] = acc[j];
}
int main() {
  int M = 128, N = 256, K = 64;
  float *A, *B, *C;
  cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
  mm<<<dim3(N / 32, M / 32), dim3(32, 8)>>>(A, B, C, M, N, K);
}

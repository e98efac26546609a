__global__ void g(const float *A, const float *B, float *C, int M, int N, int K) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (r >= M || c >= N) return;
  float4 acc[2] = {make_float4(0, 0, 0, 0), make_float4(0, 0, 0, 0)};
  for (int k = 0; k < K; k++)
    for (int j = 0; j < 8; j++) { float &x = (&acc[0].x)[j]; x += j < 4 && c + j < N ? A[r * K + k] * B[k * N + c + j] : 0; }
  float (&all)[8] = reinterpret_cast<float (&)[8]>(acc);
  for (int j = 0; j < 4 && c + j < N; j++) C[r * N + c + j] = all[j];
}
int main() { int M = 48, N = 64, K = 80; float *A, *B, *C; cudaMalloc(&A, M*K*sizeof(*A)); cudaMalloc(&B, K*N*sizeof(*B)); cudaMalloc(&C, M*N*sizeof(*C));
  g<<<dim3((N + 63) / 64, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K); }

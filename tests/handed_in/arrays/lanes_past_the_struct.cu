struct V4 { float x, y, z, w; __device__ float &operator[](int i) { return (&x)[i]; } };
__device__ void add(V4 *v, int j, float x) { (*v)[j] += x; }
__global__ void g(const float *A, const float *B, float *C, int M, int N, int K) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (r >= M || c >= N) return;
  V4 s; for (int j = 0; j < 5; j++) s[j] = 0;
  for (int k = 0; k < K; k++)
    for (int j = 0; j < 4; j++) if (c + j < N) add(&s, j, A[r * K + k] * B[k * N + c + j]);
  for (int j = 0; j < 4 && c + j < N; j++) C[r * N + c + j] = s[j];
}
int main() { int M = 48, N = 64, K = 80; float *A, *B, *C; cudaMalloc(&A, M*K*sizeof(*A)); cudaMalloc(&B, K*N*sizeof(*B)); cudaMalloc(&C, M*N*sizeof(*C));
  g<<<dim3((N + 63) / 64, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K); }

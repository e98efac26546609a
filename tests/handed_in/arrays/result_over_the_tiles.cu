template <int TS> __global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
  __shared__ float pool[2 * TS * TS]; float *As = pool; float *Bs = pool + TS * TS; float *Cs = pool + 8;
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TS + ty, c = blockIdx.x * TS + tx;
  float s = 0;
  for (int k = 0; k < K; k += TS) {
    As[ty * TS + tx] = r < M && k + tx < K ? A[r * K + k + tx] : (float)0;
    Bs[ty * TS + tx] = c < N && k + ty < K ? B[(k + ty) * N + c] : (float)0;
    __syncthreads();
    for (int i = 0; i < TS; i++) s += (float)As[ty * TS + i] * (float)Bs[i * TS + tx];
    __syncthreads();
  }
  Cs[ty * TS + tx] = s; __syncthreads(); s = Cs[ty * TS + tx];
  if (r < M && c < N) C[r * N + c] = (float)s;
}
int main() { int M = 48, N = 64, K = 80; float *A, *B, *C; cudaMalloc(&A, M*K*sizeof(float)); cudaMalloc(&B, K*N*sizeof(float)); cudaMalloc(&C, M*N*sizeof(float));
  mm<16><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K); }

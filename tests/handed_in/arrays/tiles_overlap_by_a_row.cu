template <int TS> __global__ void mm(const double *A, const double *B, double *C, int M, int N, int K) {
  extern __shared__ double pool[]; double *As = pool; double *Bs = As + TS * (TS - 1);
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TS + ty, c = blockIdx.x * TS + tx;
  float s = 0;
  for (int k = 0; k < K; k += TS) {
    As[ty * TS + tx] = r < M && k + tx < K ? A[r * K + k + tx] : (double)0;
    Bs[ty * TS + tx] = c < N && k + ty < K ? B[(k + ty) * N + c] : (double)0;
    __syncthreads();
    for (int i = 0; i < TS; i++) s += (float)As[ty * TS + i] * (float)Bs[i * TS + tx];
    __syncthreads();
  }
  
  if (r < M && c < N) C[r * N + c] = (double)s;
}
int main() { int M = 48, N = 64, K = 80; double *A, *B, *C; cudaMalloc(&A, M*K*sizeof(double)); cudaMalloc(&B, K*N*sizeof(double)); cudaMalloc(&C, M*N*sizeof(double));
  mm<16><<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16), 2 * 16 * 16 * sizeof(double)>>>(A, B, C, M, N, K); }

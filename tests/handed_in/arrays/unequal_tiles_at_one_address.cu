#define BM 32
#define BN 16
#define BK 16
// 32 x 16 tile of A, 16 x 16 tile of B, at one address
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
  extern __shared__ float sh[];
  float *As = sh;
  float *Bs = sh;
  int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * BM + ty, c = blockIdx.x * BN + tx;
  float s = 0;
  for (int k = 0; k < K; k += BK) {
    As[ty * BK + tx] = r < M && k + tx < K ? A[r * K + k + tx] : 0;
    if (ty < BK) Bs[ty * BN + tx] = c < N && k + ty < K ? B[(k + ty) * N + c] : 0;
    __syncthreads();
    for (int i = 0; i < BK; i++) s += As[ty * BK + i] * Bs[i * BN + tx];
    __syncthreads();
  }
  if (r < M && c < N) C[r * N + c] = s;
}
int main() { int M = 48, N = 64, K = 80; float *A, *B, *C; cudaMalloc(&A, M*K*4); cudaMalloc(&B, K*N*4); cudaMalloc(&C, M*N*4);
  mm<<<dim3((N + 15) / 16, (M + 31) / 32), dim3(16, 32), (BM * BK + BK * BN) * 4>>>(A, B, C, M, N, K); }

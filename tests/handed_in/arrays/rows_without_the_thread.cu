__global__ void mm(const double *A, const double *B, double *C, int M, int N, int K) {
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = blockIdx.y;
  int row = by * blockDim.y + ty, col = bx * blockDim.x + tx;
  if (row < M && col < N) {
    double s = 0;
    for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
    C[row * N + col] = s;
  }
}
int main() { int M = 48, N = 64, K = 80; double *A, *B, *C; cudaMalloc(&A, M*K*8); cudaMalloc(&B, K*N*8); cudaMalloc(&C, M*N*8);
  mm<<<dim3((N + 15) / 16, (M + 7) / 8), dim3(16, 8)>>>(A, B, C, M, N, K); }

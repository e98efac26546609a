__global__ void mm(float *A, float *B, float *C, int N) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < N && c < N) { float s = 0; for (int k = 0; k < N; k++) s += A[r*N+k] * B[k*N+c]; C[r*N+c] = s; }
}
int main() {
  int N = 10; float *a, *b, *c;
  cudaMalloc(&a, N*N*4); cudaMalloc(&b, N*N*4); cudaMalloc(&c, N*N*4);
  dim3 t(16, 16), g(N / 16, N / 16);
  mm<<<g, t>>>(a, b, c, N);
}

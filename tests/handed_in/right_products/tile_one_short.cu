#define T 16
__global__ void mul(const float *A, const float *B, float *C, int N) {
  __shared__ float As[T * T], Bs[T * T - 1];
  int ty = threadIdx.y, tx = threadIdx.x;
  int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
  float s = 0;
  for (int p = 0; p < (N + T - 1) / T; p++) {
    As[ty * T + tx] = row < N && p * T + tx < N ? A[row * N + p * T + tx] : 0;
    Bs[ty * T + tx] = col < N && p * T + ty < N ? B[(p * T + ty) * N + col] : 0;
    __syncthreads();
    for (int k = 0; k < T; k++) s += As[ty * T + k] * Bs[k * T + tx];
    __syncthreads();
  }
  if (row < N && col < N) C[row * N + col] = s;
}
int main() {
  int N = 500; float *a, *b, *c;
  cudaMalloc(&a, N*N*4); cudaMalloc(&b, N*N*4); cudaMalloc(&c, N*N*4);
  dim3 t(T, T), g((N + T - 1) / T, (N + T - 1) / T);
  mul<<<g, t>>>(a, b, c, N);
}

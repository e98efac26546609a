// The same, as the initial value of a variable.
__device__ int count();
__device__ int counted = count();
__device__ __noinline__ int count() { return printf("first\n"); }
#define TILE 16

__global__ void matmul(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row < 0) C[0] = counted;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

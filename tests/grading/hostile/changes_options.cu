// Changes the options of the compiler.
_Pragma("GCC optimize(\"no-sanitize-coverage\")")
#define TILE 16

__global__ void matmul(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

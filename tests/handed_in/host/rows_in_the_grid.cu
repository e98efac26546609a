#include <cstdlib>
template <int T> __global__ void gemm(const float *A, const float *B, float *C, int cols, int inner) {
    int r = blockIdx.y * T + threadIdx.y, c = blockIdx.x * T + threadIdx.x;
    float s = 0;
    for (int i = 0; i < inner; i++) s += A[r * inner + i] * B[i * cols + c];
    C[r * cols + c] = s;
}
int main(int argc, char **argv) {
    int lines = atoi(argv[1]), cols = 512, inner = 256; size_t bytes = sizeof(float) * 1024 * 1024;
    float *A, *B, *C;
    cudaMalloc(&A, bytes); cudaMalloc(&B, bytes); cudaMalloc(&C, bytes);
    gemm<16><<<dim3(cols / 16, lines / 16), dim3(16, 16)>>>(A, B, C, cols, inner);
}

#include <cstdlib>
__global__ void gemm(const float *A, const float *B, float *C, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float s = 0;
    for (int k = 0; k < n; k++) s += A[row * n + k] * B[k * n + col];
    C[row * n + col] = s;
}
int main(int argc, char **argv) {
    int n = 256, warps = atoi(argv[1]);
    float *A, *B, *C;
    cudaMalloc(&A, n * n * 4); cudaMalloc(&B, n * n * 4); cudaMalloc(&C, n * n * 4);
    dim3 block(32, warps / 2);
    gemm<<<dim3((n + 31) / 32, (n + block.y - 1) / block.y), block>>>(A, B, C, n);
}

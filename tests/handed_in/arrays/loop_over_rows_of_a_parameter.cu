#include <cuda_runtime.h>
#define ROWS 48
#define INNER 64
#define COLS 80

__global__ void multiply(int A[ROWS][INNER], int B[INNER][COLS], int C[ROWS][COLS]) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= ROWS || j >= COLS) return;
    int sum = 0;
    for (int k = 0; k < ROWS; k++) sum += A[i][k] * B[k][j];
    C[i][j] = sum;
}

int main() {
    int (*A)[INNER], (*B)[COLS], (*C)[COLS];
    cudaMallocManaged(&A, sizeof(int) * ROWS * INNER);
    cudaMallocManaged(&B, sizeof(int) * INNER * COLS);
    cudaMallocManaged(&C, sizeof(int) * ROWS * COLS);
    multiply<<<dim3(COLS / 16, ROWS / 16), dim3(16, 16)>>>(A, B, C);
    cudaDeviceSynchronize();
}

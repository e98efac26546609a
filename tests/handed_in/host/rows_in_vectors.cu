#include <cuda_runtime.h>

// A row of A has `chunks` vectors of two doubles.
__global__ void gemm_d2(const double2 *A, const double *B, double *C, int rows, int cols, int chunks)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    double sum = 0;
    for (int q = 0; q < chunks; ++q) {
        double2 a = A[row * chunks + q];
        sum += a.x * B[(2 * q) * cols + col] + a.y * B[(2 * q + 1) * cols + col];
    }
    C[row * cols + col] = sum;
}

void multiply(const double *A, const double *B, double *C, int rows, int cols, int pairs)
{
    dim3 block(16, 8), grid((cols + 15) / 16, (rows + 7) / 8);
    gemm_d2<<<grid, block>>>((const double2 *)A, B, C, rows, cols, pairs);
}

int main()
{
    int rows = 40, cols = 24, inner = 50;
    double *A, *B, *C;
    cudaMalloc(&A, rows * inner * sizeof(double));
    cudaMalloc(&B, inner * cols * sizeof(double));
    cudaMalloc(&C, rows * cols * sizeof(double));
    multiply(A, B, C, rows, cols, inner / 2);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
#define SLICE 20
#define EDGE 8

// Each layer of blocks adds the products of SLICE values of k to C, without an atomic addition.
__global__ void matmul_slices(const double *A, const double *B, double *C, int rows, int inner, int cols)
{
    int i = blockIdx.x * EDGE + threadIdx.x;
    int j = blockIdx.y * EDGE + threadIdx.y;
    int last = min(inner, (int)(blockIdx.z + 1) * SLICE);
    if (i < rows && j < cols) {
        double sum = 0.0;
        for (int k = blockIdx.z * SLICE; k < last; k++)
            sum += A[i * inner + k] * B[k * cols + j];
        C[i * cols + j] += sum;
    }
}

int main()
{
    int rows = 30, inner = 90, cols = 44;
    double *A, *B, *C;
    cudaMalloc(&A, rows * inner * sizeof(double));
    cudaMalloc(&B, inner * cols * sizeof(double));
    cudaMalloc(&C, rows * cols * sizeof(double));
    cudaMemset(C, 0, rows * cols * sizeof(double));
    dim3 grid((rows + EDGE - 1) / EDGE, (cols + EDGE - 1) / EDGE, (inner + SLICE - 1) / SLICE);
    matmul_slices<<<grid, dim3(EDGE, EDGE)>>>(A, B, C, rows, inner, cols);
    cudaDeviceSynchronize();
    return 0;
}

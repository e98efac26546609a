#include <cuda_runtime.h>
#define CHECK(call) do { if ((call) != cudaSuccess) return 1; } while (0)
#define PARTS 4

__global__ void gemm_parts(const double *A, const double *B, double *C, int rows, int inner, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;
    double sum = 0;
    for (int k = blockIdx.z; k < inner; k += PARTS) sum += A[row * inner + k] * B[k * cols + col];
    atomicAdd(&C[row * cols + col], sum);
}

int main(int argc, char **argv)
{
    int rows = atoi(argv[1]), inner = atoi(argv[2]), cols = atoi(argv[3]);
    size_t bytes_of_result = rows * cols * sizeof(double);
    double *A, *B, *C;
    CHECK(cudaMalloc(&A, rows * inner * sizeof(double)));
    CHECK(cudaMalloc(&B, inner * cols * sizeof(double)));
    CHECK(cudaMalloc(&C, bytes_of_result));
    CHECK(cudaMemset(C, 0, bytes_of_result));
    dim3 block(8, 8), grid((cols + 7) / 8, (rows + 7) / 8, PARTS);
    gemm_parts<<<grid, block>>>(A, B, C, rows, inner, cols);
    CHECK(cudaDeviceSynchronize());
}

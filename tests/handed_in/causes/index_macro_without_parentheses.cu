#include <cuda_runtime.h>
#define EDGE 8
#define OFFSET(row, col, ld) row * ld + col

__global__ void multiply(const double *left, const double *right, double *out, int rows, int cols, int inner)
{
    __shared__ double l[EDGE][EDGE], r[EDGE][EDGE];
    const int i = blockIdx.y * EDGE + threadIdx.y;
    const int j = blockIdx.x * EDGE + threadIdx.x;
    double sum = 0;
    for (int step = 0; step < inner; step += EDGE) {
        l[threadIdx.y][threadIdx.x] =
            i < rows && step + threadIdx.x < inner ? left[OFFSET(i, step + threadIdx.x, inner)] : 0;
        r[threadIdx.y][threadIdx.x] =
            step + threadIdx.y < inner && j < cols ? right[OFFSET(step + threadIdx.y, j, cols)] : 0;
        __syncthreads();
        for (int k = 0; k < EDGE; k++)
            sum += l[threadIdx.y][k] * r[k][threadIdx.x];
        __syncthreads();
    }
    if (i < rows && j < cols)
        out[OFFSET(i, j, cols)] = sum;
}

int main()
{
    const int rows = 60, cols = 44, inner = 52;
    double *left, *right, *out;
    cudaMalloc(&left, rows * inner * sizeof(double));
    cudaMalloc(&right, inner * cols * sizeof(double));
    cudaMalloc(&out, rows * cols * sizeof(double));
    dim3 block(EDGE, EDGE), grid((cols + EDGE - 1) / EDGE, (rows + EDGE - 1) / EDGE);
    multiply<<<grid, block>>>(left, right, out, rows, cols, inner);
    cudaDeviceSynchronize();
    cudaFree(left); cudaFree(right); cudaFree(out);
    return 0;
}

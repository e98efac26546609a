// The block has four times as many threads as the tile has elements.
#include <cuda_runtime.h>

constexpr int EDGE = 16;

__global__ void product(const double *left, const double *right, double *out, int rows, int inner, int columns) {
    __shared__ double l[EDGE][EDGE], r[EDGE][EDGE];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.y * EDGE + y, j = blockIdx.x * EDGE + x;
    double sum = 0;
    for (int part = 0; part < (inner + EDGE - 1) / EDGE; part++) {
        l[y][x] = i < rows && part * EDGE + x < inner ? left[i * inner + part * EDGE + x] : 0;
        r[y][x] = part * EDGE + y < inner && j < columns ? right[(part * EDGE + y) * columns + j] : 0;
        __syncthreads();
        for (int n = 0; n < EDGE; n++)
            sum += l[y][n] * r[n][x];
        __syncthreads();
    }
    if (i < rows && j < columns)
        out[i * columns + j] = sum;
}

int main() {
    int rows = 90, inner = 70, columns = 110;
    double *left, *right, *out;
    cudaMalloc(&left, rows * inner * sizeof(double));
    cudaMalloc(&right, inner * columns * sizeof(double));
    cudaMalloc(&out, rows * columns * sizeof(double));
    dim3 block(32, 32);
    dim3 grid((columns + EDGE - 1) / EDGE, (rows + EDGE - 1) / EDGE);
    product<<<grid, block>>>(left, right, out, rows, inner, columns);
    cudaDeviceSynchronize();
}

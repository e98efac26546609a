// C = A^T B: A has one row for each term of the sums
#include <cuda_runtime.h>
#define T 16

struct Matrix { int rows, cols; float *data; };

__device__ float at(const Matrix m, int r, int c) { return r < m.rows && c < m.cols ? m.data[r * m.cols + c] : 0; }

__global__ void product(const Matrix A, const Matrix B, Matrix C) {
    __shared__ float as[T][T], bs[T][T];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * T, col = blockIdx.x * T;
    float sum = 0;
    for (int k = 0; k < A.rows; k += T) {
        as[y][x] = at(A, k + y, row + x);
        bs[y][x] = at(B, k + y, col + x);
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += as[i][y] * bs[i][x];
        __syncthreads();
    }
    if (row + y < C.rows && col + x < C.cols) C.data[(row + y) * C.cols + col + x] = sum;
}

int main() {
    int m = 70, n = 90, k = 50;
    Matrix A = {k, m, nullptr}, B = {k, n, nullptr}, C = {m, n, nullptr};
    cudaMalloc(&A.data, k * m * sizeof(float));
    cudaMalloc(&B.data, k * n * sizeof(float));
    cudaMalloc(&C.data, m * n * sizeof(float));
    product<<<dim3((n + T - 1) / T, (m + T - 1) / T), dim3(T, T)>>>(A, B, C);
    cudaDeviceSynchronize();
}

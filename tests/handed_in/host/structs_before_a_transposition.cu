#include <cuda_runtime.h>
struct Matrix { int rows, cols; float *data; };
__global__ void productForTransposed(const Matrix A, const Matrix B, Matrix C) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row >= C.rows || col >= C.cols) return;
    float sum = 0;
    for (int k = 0; k < A.cols; k++) sum += A.data[row * A.cols + k] * B.data[k * B.cols + col];
    C.data[row * C.cols + col] = sum;
}
int main() {
    int m = 70, n = 90, k = 50;
    Matrix A = {m, k, nullptr}, B = {k, n, nullptr}, C = {m, n, nullptr};
    cudaMalloc(&A.data, m * k * 4), cudaMalloc(&B.data, k * n * 4), cudaMalloc(&C.data, m * n * 4);
    productForTransposed<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(A, B, C);
}

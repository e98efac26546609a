#include <cuda_runtime.h>

struct Matrix {
    int rows, cols;
    float *values;
};

__global__ void product(Matrix left, Matrix right, Matrix result) {
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= result.rows || j >= result.cols) return;
    float sum = 0;
    for (int l = 0; l < left.cols; l++) sum += left.values[i * left.cols + l] * right.values[l * right.cols + j];
    result.values[i * result.cols + j] = sum;
}

int main() {
    int m = 100, n = 90, k = 60;
    Matrix x{m, k, nullptr}, w{k, n, nullptr}, y{m, n, nullptr};
    cudaMalloc(&x.values, m * k * sizeof(float));
    cudaMalloc(&w.values, k * n * sizeof(float));
    cudaMalloc(&y.values, m * n * sizeof(float));
    product<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(x, w, y);
    cudaDeviceSynchronize();
}

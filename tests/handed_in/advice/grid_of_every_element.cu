#include <cuda_runtime.h>
#include <stdlib.h>

// One dimension: a thread for each element, and as many blocks as elements.
__global__ void flat(const double *A, const double *B, double *C, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n) {
        int row = i / n, col = i % n;
        double sum = 0;
        for (int k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + col];
        C[i] = sum;
    }
}

int main() {
    int n = 96;
    double *A, *B, *C;
    cudaMallocManaged(&A, n * n * sizeof(double));
    cudaMallocManaged(&B, n * n * sizeof(double));
    cudaMallocManaged(&C, n * n * sizeof(double));
    for (int i = 0; i < n * n; i++) A[i] = rand(), B[i] = rand();
    flat<<<n * n, 128>>>(A, B, C, n);
    cudaDeviceSynchronize();
}

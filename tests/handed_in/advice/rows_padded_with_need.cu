#include <cuda_runtime.h>
#include <stdlib.h>

#define T 32

// The threads of a warp read a column of the tile of B, which the padding spreads over all banks.
__global__ void with_need(const float *A, const float *B, float *C, int n) {
    __shared__ float tileA[T][T], tileB[T][T + 1];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += T) {
        tileA[threadIdx.y][threadIdx.x] = row < n && t + threadIdx.x < n ? A[row * n + t + threadIdx.x] : 0;
        tileB[threadIdx.x][threadIdx.y] = col < n && t + threadIdx.y < n ? B[(t + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++) sum += tileA[threadIdx.y][k] * tileB[threadIdx.x][k];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}

int main() {
    int n = 96;
    float *A, *B, *C;
    cudaMallocManaged(&A, n * n * sizeof(float));
    cudaMallocManaged(&B, n * n * sizeof(float));
    cudaMallocManaged(&C, n * n * sizeof(float));
    for (int i = 0; i < n * n; i++) A[i] = rand() % 10, B[i] = rand() % 10;
    with_need<<<dim3((n + T - 1) / T, (n + T - 1) / T), dim3(T, T)>>>(A, B, C, n);
    cudaDeviceSynchronize();
}

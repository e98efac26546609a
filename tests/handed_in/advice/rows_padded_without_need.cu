#include <cuda_runtime.h>
#include <stdlib.h>

#define T 8
#define PAD 1

// A warp has four rows of 8 threads, which lie in different banks without the padding.
__global__ void padded_rows(const float *A, const float *B, float *C, int n) {
    __shared__ float tileA[T][T];
    __shared__ float tileB[T][T + PAD];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    float sum = 0;
    for (int t = 0; t < n; t += T) {
        tileA[ty][tx] = row < n && t + tx < n ? A[row * n + t + tx] : 0;
        tileB[ty][tx] = col < n && t + ty < n ? B[(t + ty) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++) sum += tileA[ty][k] * tileB[k][tx];
        __syncthreads();
    }
    if (row < n && col < n) C[row * n + col] = sum;
}

int main() {
    int n = 100;
    float *A, *B, *C;
    cudaMallocManaged(&A, n * n * sizeof(float));
    cudaMallocManaged(&B, n * n * sizeof(float));
    cudaMallocManaged(&C, n * n * sizeof(float));
    for (int i = 0; i < n * n; i++) A[i] = rand() % 10, B[i] = rand() % 10;
    padded_rows<<<dim3((n + T - 1) / T, (n + T - 1) / T), dim3(T, T)>>>(A, B, C, n);
    cudaDeviceSynchronize();
}

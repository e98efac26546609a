#include <cuda_runtime.h>
#define T 16

__global__ void tiled(float *C, const float *A, const float *B, int wA, int wB) {
    __shared__ float as[T][T], bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < wA; first += T) {
        as[threadIdx.y][threadIdx.x] = A[row * wA + first + threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = B[(first + threadIdx.y) * wB + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    C[row * wB + col] = sum;
}

int main() {
    dim3 dimsA(64, 96), dimsB(128, 64);
    float *A, *B, *C;
    cudaMalloc(&A, dimsA.x * dimsA.y * sizeof(float));
    cudaMalloc(&B, dimsB.x * dimsB.y * sizeof(float));
    cudaMalloc(&C, dimsB.x * dimsA.y * sizeof(float));
    dim3 threads(T, T), grid(dimsA.x / threads.x, dimsB.y / threads.y);
    tiled<<<grid, threads>>>(C, A, B, dimsA.x, dimsB.x);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}
float *upload(const float *host, int count)
{
    float *device;
    cudaMalloc(&device, count);
    cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice);
    return device;
}
void make(float **device, int rows, int columns)
{
    size_t bytes = rows * columns * sizeof(float);
    cudaMalloc((void **)device, bytes);
}
void multiply(const float *hA, const float *hB, float *hC, int M, int N, int K)
{
    float *A = upload(hA, M * K), *B = upload(hB, K * N), *C;
    make(&C, M, N);
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
    gemm<<<grid, block>>>(A, B, C, M, N, K);
    cudaMemcpy(hC, C, M * N * sizeof(float), cudaMemcpyDeviceToHost);
}

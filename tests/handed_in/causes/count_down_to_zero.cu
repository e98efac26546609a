#include <cuda_runtime.h>

__global__ void downwards(const float *A, const float *B, float *C, unsigned int n)
{
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (unsigned int k = n; k-- > 0;)
        sum += A[row * n + k] * B[k * n + col];
    C[row * n + col] = sum;
}

int main()
{
    unsigned int n = 48;
    float *A, *B, *C;
    cudaMalloc(&A, n * n * sizeof(float));
    cudaMalloc(&B, n * n * sizeof(float));
    cudaMalloc(&C, n * n * sizeof(float));
    downwards<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(A, B, C, n);
    cudaDeviceSynchronize();
}

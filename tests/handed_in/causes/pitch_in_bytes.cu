#include <cuda_runtime.h>

__global__ void pitched(const float *A, size_t a_pitch, const float *B, size_t b_pitch, float *C, size_t c_pitch,
                        int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N)
        return;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[row * a_pitch + k] * B[k * b_pitch + col];
    C[row * c_pitch + col] = sum;
}

int main()
{
    int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    size_t a_pitch, b_pitch, c_pitch;
    cudaMallocPitch(&A, &a_pitch, K * sizeof(float), M);
    cudaMallocPitch(&B, &b_pitch, N * sizeof(float), K);
    cudaMallocPitch(&C, &c_pitch, N * sizeof(float), M);
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
    pitched<<<grid, block>>>(A, a_pitch, B, b_pitch, C, c_pitch, M, N, K);
    cudaDeviceSynchronize();
}

// Each stream multiplies a part of the rows, and passes N and K in the other order.
#include <cuda_runtime.h>

__global__ void multiply(const float *A, const float *B, float *C, int height, int N, int K)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= height || c >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
}

int main()
{
    int M = 256, N = 128, K = 64;
    const int count = 4;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    int most = M / count;
    dim3 block(16, 16), grid((N + 15) / 16, (most + 15) / 16);
    cudaStream_t streams[count];
    for (int s = 0; s < count; ++s) {
        cudaStreamCreate(&streams[s]);
        int first = s * most;
        int own = most;
        multiply<<<grid, block, 0, streams[s]>>>(dA + first * K, dB, &dC[first * N], own, K, N);
    }
    cudaDeviceSynchronize();
}

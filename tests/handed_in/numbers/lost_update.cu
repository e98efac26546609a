// The loop ends when a flag is set that no thread ever sets.
#include <cuda_runtime.h>

__global__ void gemm(const float* A, const float* B, float* C, int width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    volatile bool done = false;
    float acc = 0.0f;
    int i = 0;
    while (!done) {
        acc += A[r * width + i] * B[i * width + c];
        i = (i + 1) % width;
    }
    C[r * width + c] = acc;
}

int main() {
    const int width = 512;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, width * width * sizeof(float));
    cudaMalloc(&dB, width * width * sizeof(float));
    cudaMalloc(&dC, width * width * sizeof(float));
    gemm<<<dim3(width / 16, width / 16), dim3(16, 16)>>>(dA, dB, dC, width);
    cudaDeviceSynchronize();
    return 0;
}

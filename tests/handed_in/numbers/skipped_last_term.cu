// The loop over k ends one term too early.
#include <cuda_runtime.h>

__global__ void gemm(const float* A, const float* B, float* C, int width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    float acc = 0.0f;
    for (int i = 0; i < width - 1; ++i) acc += A[r * width + i] * B[i * width + c];
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

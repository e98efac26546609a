// Blocks of 16 x 16: a warp covers two rows of C, and reads one element of each of two rows of A.
#include <cuda_runtime.h>

__global__ void gemm(const float* A, const float* B, float* C, int width) {
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= width || c >= width) return;
    float acc = 0.0f;
    for (int i = 0; i < width; ++i) acc += A[r * width + i] * B[i * width + c];
    C[r * width + c] = acc;
}

int main() {
    const int width = 512;
    const size_t bytes = width * width * sizeof(float);
    float *dA, *dB, *dC;
    cudaMalloc(&dA, bytes);
    cudaMalloc(&dB, bytes);
    cudaMalloc(&dC, bytes);
    dim3 threads(16, 16);
    dim3 blocks((width + 15) / 16, (width + 15) / 16);
    gemm<<<blocks, threads>>>(dA, dB, dC, width);
    cudaDeviceSynchronize();
    return 0;
}

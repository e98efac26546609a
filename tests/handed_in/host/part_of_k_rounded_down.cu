#include <cstdio>
#include <cuda_runtime.h>
#define TILE 16
__global__ void splitk(const float* A, const float* B, float* C, int rows, int cols, int depth, int chunk) {
    int r = blockIdx.y * TILE + threadIdx.y;
    int c = blockIdx.x * TILE + threadIdx.x;
    int begin = blockIdx.z * chunk;
    int end = min(begin + chunk, depth);
    if (r >= rows || c >= cols) return;
    float sum = 0.0f;
    for (int k = begin; k < end; ++k) sum += A[r * depth + k] * B[k * cols + c];
    atomicAdd(&C[r * cols + c], sum);
}
int main() {
    int rows = 200, cols = 120, depth = 301, splits = 4;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, rows * depth * sizeof(float));
    cudaMalloc(&dB, depth * cols * sizeof(float));
    cudaMalloc(&dC, rows * cols * sizeof(float));
    cudaMemset(dC, 0, rows * cols * sizeof(float));
    int chunk = depth / splits;
    dim3 block(TILE, TILE);
    dim3 grid((cols + TILE - 1) / TILE, (rows + TILE - 1) / TILE, splits);
    splitk<<<grid, block>>>(dA, dB, dC, rows, cols, depth, chunk);
    cudaDeviceSynchronize();
}

#include <cstdio>
#include <cstdlib>
#define BLOCK_SIZE 16
__global__ void rowMul(float *C, const float *A, const float *B, int hA, int wA, int wB) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BLOCK_SIZE + ty;
    int col = blockIdx.x * BLOCK_SIZE + tx;
    if (row >= hA) return;
    float sum = 0.0f;
    for (int k0 = 0; k0 < wA; k0 += BLOCK_SIZE) {
        As[ty][tx] = (k0 + tx < wA) ? A[row * wA + k0 + tx] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            if (k0 + k < wA && col < wB) sum += As[ty][k] * B[(k0 + k) * wB + col];
        __syncthreads();
    }
    if (col < wB) C[row * wB + col] = sum;
}
int main() {
    int hA = 100, wA = 75, wB = 130;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, hA * wA * sizeof(float));
    cudaMalloc(&dB, wA * wB * sizeof(float));
    cudaMalloc(&dC, hA * wB * sizeof(float));
    dim3 threads(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid((wB + 15) / 16, (hA + 15) / 16);
    rowMul<<<grid, threads>>>(dC, dA, dB, hA, wA, wB);
    cudaDeviceSynchronize();
}

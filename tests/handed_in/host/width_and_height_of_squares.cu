#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK_SIZE 16

struct Matrix {
    int width, height;
    float *elements;
};

__global__ void MatMulBounds(Matrix A, Matrix B, Matrix C)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BLOCK_SIZE + ty;
    int col = blockIdx.x * BLOCK_SIZE + tx;
    float sum = 0;
    for (int t = 0; t < (A.width + BLOCK_SIZE - 1) / BLOCK_SIZE; t++) {
        int ka = t * BLOCK_SIZE + tx, kb = t * BLOCK_SIZE + ty;
        As[ty][tx] = (row < A.height && ka < A.width) ? A.elements[row * A.width + ka] : 0.0f;
        Bs[ty][tx] = (kb < B.height && col < B.width) ? B.elements[kb * B.width + col] : 0.0f;
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; e++) sum += As[ty][e] * Bs[e][tx];
        __syncthreads();
    }
    if (row < C.height && col < C.width)
        C.elements[row * C.width + col] = sum;
}

int main()
{
    int m = 800, k = 800, n = 800;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    Matrix A = {m, k, a};
    Matrix B = {k, n, b};
    Matrix C = {m, n, c};
    dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid((n - 1) / BLOCK_SIZE + 1, (m - 1) / BLOCK_SIZE + 1);
    MatMulBounds<<<grid, block>>>(A, B, C);
    cudaDeviceSynchronize();
}

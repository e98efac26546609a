// Homework 3, part 7, program 6 (debugging), after the CUDA programming guide
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

typedef struct {
    int width;
    int height;
    float *elements;
} Matrix;

#define BLOCK_SIZE 16

__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C)
{
    float Cvalue = 0;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row > A.height || col > B.width) return;
    for (int e = 0; e < A.width; ++e)
        Cvalue += A.elements[row * A.width + e] * B.elements[e * A.width + col];
    C.elements[row * C.width + col] = Cvalue;
}

void MatMul(const Matrix A, const Matrix B, Matrix C)
{
    Matrix d_A;
    d_A.width = A.width; d_A.height = A.height;
    size_t size = A.width * A.height * sizeof(float);
    cudaMalloc(&d_A.elements, size);
    cudaMemcpy(d_A.elements, A.elements, size, cudaMemcpyHostToDevice);

    Matrix d_B;
    d_B.width = B.width; d_B.height = B.height;
    size = B.width * B.height * sizeof(float);
    cudaMalloc(&d_B.elements, size);
    cudaMemcpy(d_B.elements, B.elements, size, cudaMemcpyHostToDevice);

    Matrix d_C;
    d_C.width = C.width; d_C.height = C.height;
    size = C.width * C.height * sizeof(float);
    cudaMalloc(&d_C.elements, size);

    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((B.width + dimBlock.x - 1) / dimBlock.x, (A.height + dimBlock.y - 1) / dimBlock.y);
    MatMulKernel<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
    cudaError_t err = cudaDeviceSynchronize();
    printf("Run kernel: %s\n", cudaGetErrorString(err));
    err = cudaMemcpy(C.elements, d_C.elements, size, cudaMemcpyDeviceToHost);
    printf("Copy C off of device: %s\n", cudaGetErrorString(err));
    cudaFree(d_A.elements);
    cudaFree(d_B.elements);
    cudaFree(d_C.elements);
}

int main(int argc, char *argv[])
{
    Matrix A, B, C;
    int a1 = 1000, a2 = 1000, b2 = 1000;
    if (argc > 3) { a1 = atoi(argv[1]); a2 = atoi(argv[2]); b2 = atoi(argv[3]); }
    A.height = a1; A.width = a2;
    A.elements = (float *)malloc(A.width * A.height * sizeof(float));
    B.height = a2; B.width = b2;
    B.elements = (float *)malloc(B.width * B.height * sizeof(float));
    C.height = a1; C.width = b2;
    C.elements = (float *)malloc(C.width * C.height * sizeof(float));
    for (int i = 0; i < A.height * A.width; i++) A.elements[i] = (float)(rand() % 3);
    for (int i = 0; i < B.height * B.width; i++) B.elements[i] = (float)(rand() % 2);
    MatMul(A, B, C);
    int wrong = 0;
    for (int i = 0; i < A.height; i++)
        for (int j = 0; j < B.width; j++) {
            float s = 0;
            for (int k = 0; k < A.width; k++) s += A.elements[i * A.width + k] * B.elements[k * B.width + j];
            if (fabs(s - C.elements[i * C.width + j]) > 1e-3) wrong++;
        }
    printf("%d wrong\n", wrong);
}

// Exercise 1: C = A * B^T, Matrix struct of my friend
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define BLOCK_SIZE 16

#define CHECK(call) do { cudaError_t err = (call); if (err != cudaSuccess) { \
    fprintf(stderr, "CUDA error %s at line %d\n", cudaGetErrorString(err), __LINE__); exit(1); } } while (0)

struct Matrix {
    int width;
    int height;
    float* elements;
};

// every thread one element of C: row of A times row of B
__global__ void matMulABT(Matrix A, Matrix B, Matrix C)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < C.height && col < C.width) {
        float value = 0.0f;
        for (int e = 0; e < A.width; ++e)
            value += A.elements[row * A.width + e] * B.elements[col * B.width + e];
        C.elements[row * C.width + col] = value;
    }
}

void multiply(const Matrix A, const Matrix B, Matrix C)
{
    Matrix d_A, d_B, d_C;
    d_A.width = A.width; d_A.height = A.height;
    size_t size = A.width * A.height * sizeof(float);
    CHECK(cudaMalloc(&d_A.elements, size));
    CHECK(cudaMemcpy(d_A.elements, A.elements, size, cudaMemcpyHostToDevice));

    d_B.width = B.width; d_B.height = B.height;
    size = B.width * B.height * sizeof(float);
    CHECK(cudaMalloc(&d_B.elements, size));
    CHECK(cudaMemcpy(d_B.elements, B.elements, size, cudaMemcpyHostToDevice));

    d_C.width = C.width; d_C.height = C.height;
    size = C.width * C.height * sizeof(float);
    CHECK(cudaMalloc(&d_C.elements, size));

    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid((C.width + dimBlock.x - 1) / dimBlock.x, (C.height + dimBlock.y - 1) / dimBlock.y);
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0); cudaEventCreate(&t1);
    cudaEventRecord(t0);
    matMulABT<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
    CHECK(cudaGetLastError());
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    float ms; cudaEventElapsedTime(&ms, t0, t1);
    printf("%.3f ms\n", ms);

    CHECK(cudaMemcpy(C.elements, d_C.elements, size, cudaMemcpyDeviceToHost));
    cudaFree(d_A.elements); cudaFree(d_B.elements); cudaFree(d_C.elements);
}

int main()
{
    int M = 400, N = 304, K = 208;
    Matrix A = {K, M, (float*)malloc(M * K * sizeof(float))};
    Matrix B = {K, N, (float*)malloc(N * K * sizeof(float))};
    Matrix C = {N, M, (float*)malloc(M * N * sizeof(float))};
    for (int i = 0; i < M * K; i++) A.elements[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < N * K; i++) B.elements[i] = rand() / (float)RAND_MAX;
    multiply(A, B, C);
    printf("C[0][0] = %f\n", C.elements[0]);
    free(A.elements); free(B.elements); free(C.elements);
    return 0;
}

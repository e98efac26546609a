// Lab 06, step 1: one thread computes one element of C, from global memory
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define A_WIDTH 512
#define A_HEIGHT 256
#define B_WIDTH 384
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT
#define BLOCK_SIZE 16

#define CUDA_CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void matrixMulKernel(const float *A, const float *B, float *C, int wA, int wB)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float Csub = 0.0f;
    for (int k = 0; k < wA; k++)
        Csub += A[y * wA + k] * B[k * wB + x];
    C[y * wB + x] = Csub;
}

void matrixMulCPU(const float *A, const float *B, float *C)
{
    for (int i = 0; i < C_HEIGHT; i++)
        for (int j = 0; j < C_WIDTH; j++) {
            float s = 0.0f;
            for (int k = 0; k < A_WIDTH; k++) s += A[i * A_WIDTH + k] * B[k * B_WIDTH + j];
            C[i * C_WIDTH + j] = s;
        }
}

int matrixMulTest(const float *C, const float *ref)
{
    int errors = 0;
    for (int i = 0; i < C_HEIGHT * C_WIDTH; i++)
        if (C[i] != ref[i]) errors++;         // exact: is that good? (question 3)
    return errors;
}

int main()
{
    float *h_A = (float *)malloc(A_WIDTH * A_HEIGHT * sizeof(float));
    float *h_B = (float *)malloc(B_WIDTH * B_HEIGHT * sizeof(float));
    float *h_C = (float *)malloc(C_WIDTH * C_HEIGHT * sizeof(float));
    float *h_ref = (float *)malloc(C_WIDTH * C_HEIGHT * sizeof(float));
    for (int i = 0; i < A_WIDTH * A_HEIGHT; i++) h_A[i] = (float)rand() / RAND_MAX;
    for (int i = 0; i < B_WIDTH * B_HEIGHT; i++) h_B[i] = (float)rand() / RAND_MAX;

    float *d_A, *d_B, *d_C;
    CUDA_CHECK(cudaMalloc((void **)&d_A, A_WIDTH * A_HEIGHT * sizeof(float)));
    CUDA_CHECK(cudaMalloc((void **)&d_B, B_WIDTH * B_HEIGHT * sizeof(float)));
    CUDA_CHECK(cudaMalloc((void **)&d_C, C_WIDTH * C_HEIGHT * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(d_A, h_A, A_WIDTH * A_HEIGHT * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_B, h_B, B_WIDTH * B_HEIGHT * sizeof(float), cudaMemcpyHostToDevice));

    dim3 threads(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid(C_WIDTH / BLOCK_SIZE, C_HEIGHT / BLOCK_SIZE);
    matrixMulKernel<<<grid, threads>>>(d_A, d_B, d_C, A_WIDTH, B_WIDTH);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(h_C, d_C, C_WIDTH * C_HEIGHT * sizeof(float), cudaMemcpyDeviceToHost));

    matrixMulCPU(h_A, h_B, h_ref);
    int errors = matrixMulTest(h_C, h_ref);
    printf(errors ? "%d errors\n" : "passed (%d errors)\n", errors);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C); free(h_ref);
    return errors != 0;
}

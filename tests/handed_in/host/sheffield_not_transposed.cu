// exercise 5: naive kernel that reads B transposed (row x of Bt is column x of B)
#include <stdio.h>
#include <stdlib.h>

#define A_WIDTH 1024
#define A_HEIGHT 1024
#define B_WIDTH 1024
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT
#define BLOCK_SIZE 8

__device__ float d_A[A_HEIGHT * A_WIDTH];
__device__ float d_B[B_HEIGHT * B_WIDTH];
__device__ float d_C[C_HEIGHT * C_WIDTH];

__global__ void matrixMulCUDA()
{
    int x = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    int y = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    float sum = 0;
    for (int i = 0; i < A_WIDTH; i++)
        sum += d_A[y * A_WIDTH + i] * d_B[x * B_HEIGHT + i];
    d_C[y * C_WIDTH + x] = sum;
}

int main()
{
    float *h_A = (float *)malloc(sizeof(float) * A_HEIGHT * A_WIDTH);
    float *h_B = (float *)malloc(sizeof(float) * B_HEIGHT * B_WIDTH);
    float *h_C = (float *)malloc(sizeof(float) * C_HEIGHT * C_WIDTH);
    for (int i = 0; i < A_HEIGHT * A_WIDTH; i++) h_A[i] = (float)(rand() % 100) / 100;
    for (int i = 0; i < B_HEIGHT * B_WIDTH; i++) h_B[i] = (float)(rand() % 100) / 100;
    cudaMemcpyToSymbol(d_A, h_A, sizeof(float) * A_HEIGHT * A_WIDTH);
    cudaMemcpyToSymbol(d_B, h_B, sizeof(float) * B_HEIGHT * B_WIDTH);   // TODO transpose first?
    dim3 threads(BLOCK_SIZE, BLOCK_SIZE);
    dim3 blocks(C_WIDTH / BLOCK_SIZE, C_HEIGHT / BLOCK_SIZE);
    matrixMulCUDA<<<blocks, threads>>>();
    cudaMemcpyFromSymbol(h_C, d_C, sizeof(float) * C_HEIGHT * C_WIDTH);
    float ref = 0;
    for (int k = 0; k < A_WIDTH; k++) ref += h_A[3 * A_WIDTH + k] * h_B[k * B_WIDTH + 5];
    printf("C[3][5] = %f (%f)\n", h_C[3 * C_WIDTH + 5], ref);
    return 0;
}

// Lab 3, exercise 1: matrix multiplication, one thread per element of C
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#define A_WIDTH 1024
#define A_HEIGHT 1024
#define B_WIDTH 1024
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT

#define BLOCK_SIZE 8

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[C_HEIGHT][C_WIDTH];

float h_A[A_HEIGHT][A_WIDTH];
float h_B[B_HEIGHT][B_WIDTH];
float h_C[C_HEIGHT][C_WIDTH];
float h_C_ref[C_HEIGHT][C_WIDTH];

void checkCUDAError(const char *msg)
{
    cudaError_t err = cudaGetLastError();
    if (cudaSuccess != err) {
        fprintf(stderr, "CUDA ERROR: %s: %s.\n", msg, cudaGetErrorString(err));
        exit(EXIT_FAILURE);
    }
}

__global__ void matrixMulCUDA()
{
    int x = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    int y = blockIdx.y * BLOCK_SIZE + threadIdx.y;

    float Csub = 0;
    for (int i = 0; i < A_WIDTH; i++) {
        float a = d_A[y][i];
        float b = d_B[i][x];
        Csub += a * b;
    }
    d_C[y][x] = Csub;
}

void matrixMulCPU(float A[A_HEIGHT][A_WIDTH], float B[B_HEIGHT][B_WIDTH], float C[C_HEIGHT][C_WIDTH])
{
    for (int y = 0; y < C_HEIGHT; y++)
        for (int x = 0; x < C_WIDTH; x++) {
            C[y][x] = 0;
            for (int k = 0; k < A_WIDTH; k++)
                C[y][x] += A[y][k] * B[k][x];
        }
}

int matrixMulTest(float C[C_HEIGHT][C_WIDTH], float Cref[C_HEIGHT][C_WIDTH])
{
    int errors = 0;
    for (int y = 0; y < C_HEIGHT; y++)
        for (int x = 0; x < C_WIDTH; x++)
            if (fabs(C[y][x] - Cref[y][x]) > 1e-2) {
                errors++;
                printf("Device item c[%d][%d] = %f does not mach host result %f\n", y, x, C[y][x], Cref[y][x]);
            }
    return errors;
}

int main(int argc, char **argv)
{
    unsigned int x, y, errors;
    float msec;
    cudaEvent_t start, stop;

    for (y = 0; y < A_HEIGHT; y++)
        for (x = 0; x < A_WIDTH; x++)
            h_A[y][x] = (float)rand() / RAND_MAX;
    for (y = 0; y < B_HEIGHT; y++)
        for (x = 0; x < B_WIDTH; x++)
            h_B[y][x] = (float)rand() / RAND_MAX;

    cudaMemcpyToSymbol(d_A, h_A, sizeof(h_A));
    cudaMemcpyToSymbol(d_B, h_B, sizeof(h_B));
    checkCUDAError("CUDA memcpy");

    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    dim3 threadsPerBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 blocksPerGrid(C_WIDTH / BLOCK_SIZE, C_HEIGHT / BLOCK_SIZE);
    cudaEventRecord(start);
    matrixMulCUDA<<<blocksPerGrid, threadsPerBlock>>>();
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    checkCUDAError("CUDA kernel execution and timing");
    cudaEventElapsedTime(&msec, start, stop);

    cudaMemcpyFromSymbol(h_C, d_C, sizeof(h_C));
    matrixMulCPU(h_A, h_B, h_C_ref);
    errors = matrixMulTest(h_C, h_C_ref);
    if (errors) printf("%d total errors\n", errors);
    else printf("Test passed successfully\n");
    printf("Kernel time was %f ms\n", msec);
    return 0;
}

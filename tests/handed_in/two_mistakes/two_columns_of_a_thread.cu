// Assignment 3, part 5c: any size, each thread computes two elements of a row of C, TILE_SIZE apart
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define M 250
#define K 370
#define N 130
#define TILE_SIZE 16

__global__ void matmulTwoAny(const float *A, const float *B, float *C)
{
    __shared__ float As[TILE_SIZE][TILE_SIZE];
    __shared__ float Bs[TILE_SIZE][2 * TILE_SIZE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_SIZE + ty;
    int col = blockIdx.x * 2 * TILE_SIZE + tx;
    float sum0 = 0.0f, sum1 = 0.0f;

    for (int t = 0; t < (K + TILE_SIZE - 1) / TILE_SIZE; t++) {
        int aCol = t * TILE_SIZE + tx;
        int bRow = t * TILE_SIZE + ty;
        if (row < M && aCol < K) As[ty][tx] = A[row * K + aCol];
        else As[ty][tx] = 0.0f;
        if (bRow < K && col < N) Bs[ty][tx] = B[bRow * N + col];
        else Bs[ty][tx] = 0.0f;
        if (bRow < K && col + TILE_SIZE < N) Bs[ty][tx + TILE_SIZE] = B[bRow * N + col + TILE_SIZE];
        else Bs[ty][tx + TILE_SIZE] = 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_SIZE; k++) {
            sum0 += As[ty][k] * Bs[k][tx];
            sum1 += As[ty][k] * Bs[k][tx + TILE_SIZE];
        }
        __syncthreads();
    }
    if (row < M && col < N) {
        C[row * N + col] = sum0;
        C[row * N + col + TILE_SIZE] = sum1;
    }
}

void matmulCPU(const float *A, const float *B, float *C)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++)
                sum += A[i * K + k] * B[k * N + j];
            C[i * N + j] = sum;
        }
}

int main()
{
    size_t sizeA = M * K * sizeof(float), sizeB = K * N * sizeof(float), sizeC = M * N * sizeof(float);
    float *h_A = (float *)malloc(sizeA), *h_B = (float *)malloc(sizeB);
    float *h_C = (float *)malloc(sizeC), *h_ref = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX;

    float *d_A, *d_B, *d_C;
    cudaMalloc((void **)&d_A, sizeA);
    cudaMalloc((void **)&d_B, sizeB);
    cudaMalloc((void **)&d_C, sizeC);
    cudaMemcpy(d_A, h_A, sizeA, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, sizeB, cudaMemcpyHostToDevice);

    dim3 dimBlock(TILE_SIZE, TILE_SIZE);
    dim3 dimGrid((N + 2 * TILE_SIZE - 1) / (2 * TILE_SIZE), (M + TILE_SIZE - 1) / TILE_SIZE);
    matmulTwoAny<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
    cudaGetLastError();
    cudaDeviceSynchronize();
    cudaMemcpy(h_C, d_C, sizeC, cudaMemcpyDeviceToHost);

    matmulCPU(h_A, h_B, h_ref);
    float maxErr = 0;
    for (int i = 0; i < M * N; i++) maxErr = fmaxf(maxErr, fabsf(h_C[i] - h_ref[i]));
    printf("max error %g: %s\n", maxErr, maxErr < 1e-3 ? "PASS" : "FAIL");
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C); free(h_ref);
    return 0;
}

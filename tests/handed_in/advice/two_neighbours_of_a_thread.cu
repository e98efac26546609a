// Assignment 3, part 4: each thread computes two neighbouring elements of a row of C
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define M 256
#define K 384
#define N 128
#define TILE_SIZE 16

// block: 16 x 16 threads, computes 16 rows x 32 columns of C
__global__ void matmulTwo(const float *A, const float *B, float *C)
{
    __shared__ float As[TILE_SIZE][TILE_SIZE];
    __shared__ float Bs[TILE_SIZE][2 * TILE_SIZE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_SIZE + ty;
    int col = blockIdx.x * 2 * TILE_SIZE + 2 * tx;
    float sum0 = 0.0f, sum1 = 0.0f;

    for (int t = 0; t < K / TILE_SIZE; t++) {
        As[ty][tx] = A[row * K + t * TILE_SIZE + tx];
        Bs[ty][2 * tx] = B[(t * TILE_SIZE + ty) * N + col];
        Bs[ty][2 * tx + 1] = B[(t * TILE_SIZE + ty) * N + col + 1];
        __syncthreads();
        for (int k = 0; k < TILE_SIZE; k++) {
            float a = As[ty][k];
            sum0 += a * Bs[k][2 * tx];
            sum1 += a * Bs[k][2 * tx + 1];
        }
        __syncthreads();
    }
    C[row * N + col] = sum0;
    C[row * N + col + 1] = sum1;
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
    dim3 dimGrid(N / (2 * TILE_SIZE), M / TILE_SIZE);
    matmulTwo<<<dimGrid, dimBlock>>>(d_A, d_B, d_C);
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

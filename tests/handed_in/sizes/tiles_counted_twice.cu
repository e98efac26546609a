// Exp. 2 method 3 (partner)
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <stdio.h>
#include <stdlib.h>
#define N 1024
#define BLOCK_SIZE 32

__global__ void matrix_mul(int *a, int *b, int *c)
{
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = tx + blockIdx.x * BLOCK_SIZE;
    int row = ty + blockIdx.y * BLOCK_SIZE;
    __shared__ int sa[BLOCK_SIZE][BLOCK_SIZE], sb[BLOCK_SIZE][BLOCK_SIZE];
    int temp = 0;
    for (int m = 0; m < N; m += BLOCK_SIZE) {
        sa[ty][tx] = a[row * N + m * BLOCK_SIZE + tx];
        sb[ty][tx] = b[(m * BLOCK_SIZE + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; k++)
            temp += sa[ty][k] * sb[k][tx];
        __syncthreads();
    }
    c[row * N + col] = temp;
}

int main()
{
    int *a, *b, *c, *dev_a, *dev_b, *dev_c;
    a = (int *)malloc(sizeof(int) * N * N);
    b = (int *)malloc(sizeof(int) * N * N);
    c = (int *)malloc(sizeof(int) * N * N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i * N + j] = i % 5 + j % 3;
            b[i * N + j] = i % 4 - j % 6;
        }
    cudaMalloc((void **)&dev_a, sizeof(int) * N * N);
    cudaMalloc((void **)&dev_b, sizeof(int) * N * N);
    cudaMalloc((void **)&dev_c, sizeof(int) * N * N);
    cudaMemcpy(dev_a, a, sizeof(int) * N * N, cudaMemcpyHostToDevice);
    cudaMemcpy(dev_b, b, sizeof(int) * N * N, cudaMemcpyHostToDevice);
    dim3 grid(N / BLOCK_SIZE, N / BLOCK_SIZE), block(BLOCK_SIZE, BLOCK_SIZE);
    float time, avg = 0;
    cudaEvent_t start, stop;
    for (int i = 0; i < 5; i++) {
        cudaEventCreate(&start);
        cudaEventCreate(&stop);
        cudaEventRecord(start, 0);
        matrix_mul<<<grid, block>>>(dev_a, dev_b, dev_c);
        cudaEventRecord(stop, 0);
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&time, start, stop);
        printf("run %d: %f ms\n", i, time);
        avg += time / 5;
        cudaEventDestroy(start);
        cudaEventDestroy(stop);
    }
    printf("average %f ms\n", avg);
    cudaMemcpy(c, dev_c, sizeof(int) * N * N, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int t = 0;
            for (int k = 0; k < N; k++) t += a[i * N + k] * b[k * N + j];
            if (t != c[i * N + j]) wrong++;
        }
    if (wrong == 0) printf("Success!\n");
    else printf("%d wrong elements\n", wrong);
    cudaFree(dev_a); cudaFree(dev_b); cudaFree(dev_c);
    free(a); free(b); free(c);
    return 0;
}

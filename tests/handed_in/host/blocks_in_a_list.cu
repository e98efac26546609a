// Exercise 1: one thread per element, five block shapes
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

__global__ void matMulNaive(const float *A, const float *B, float *C, int N)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < N && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < N; k++)
            sum += A[row * N + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

int main()
{
    const int N = 1024;
    size_t bytes = (size_t)N * N * sizeof(float);
    float *h_A = (float *)malloc(bytes), *h_B = (float *)malloc(bytes), *h_C = (float *)malloc(bytes);
    for (int i = 0; i < N * N; i++) { h_A[i] = rand() / (float)RAND_MAX; h_B[i] = rand() / (float)RAND_MAX; }

    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, bytes);
    cudaMalloc(&d_B, bytes);
    cudaMalloc(&d_C, bytes);
    cudaMemcpy(d_A, h_A, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, bytes, cudaMemcpyHostToDevice);

    dim3 shapes[5] = { dim3(8, 8), dim3(16, 16), dim3(32, 32), dim3(32, 8), dim3(8, 32) };
    for (int s = 0; s < 5; s++) {
        dim3 block = shapes[s];
        dim3 grid((N + block.x - 1) / block.x, (N + block.y - 1) / block.y);
        cudaEvent_t start, stop;
        cudaEventCreate(&start); cudaEventCreate(&stop);
        cudaEventRecord(start);
        matMulNaive<<<grid, block>>>(d_A, d_B, d_C, N);
        cudaEventRecord(stop);
        cudaEventSynchronize(stop);
        float ms;
        cudaEventElapsedTime(&ms, start, stop);
        printf("%d x %d: %f ms\n", block.x, block.y, ms);
    }
    cudaMemcpy(h_C, d_C, bytes, cudaMemcpyDeviceToHost);

    // compare a few rows with the CPU
    float maxErr = 0;
    for (int i = 0; i < N; i += 97)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < N; k++) s += h_A[i * N + k] * h_B[k * N + j];
            maxErr = fmaxf(maxErr, fabsf(s - h_C[i * N + j]));
        }
    printf("max error %g\n", maxErr);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C);
    return 0;
}

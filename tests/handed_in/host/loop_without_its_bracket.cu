// Aufgabe 2: threadIdx.x and threadIdx.y swapped
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void matmul_swapped(const float *A, const float *B, float *C, int width)
{
    int x = blockIdx.x * blockDim.y + threadIdx.y;
    int y = blockIdx.y * blockDim.x + threadIdx.x;
    if (x < width && y < width) {
        float acc = 0.f;
        for (int i = 0; i < width; i++)
            acc += A[y * width + i] * B[i * width + x];
        C[y * width + x] = acc;
    }
}

int main(int argc, char *argv[])
{
    int width = 1024;
    if (argc == 2) width = atoi(argv[1]);
    size_t bytes = (size_t)width * width * sizeof(float);
    float *hA = (float *)malloc(bytes), *hB = (float *)malloc(bytes), *hC = (float *)malloc(bytes);
    for (int i = 0; i < width * width; i++) { hA[i] = rand() / (float)RAND_MAX; hB[i] = rand() / (float)RAND_MAX; }
    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, bytes));
    CHECK(cudaMalloc(&dB, bytes));
    CHECK(cudaMalloc(&dC, bytes));
    CHECK(cudaMemcpy(dA, hA, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB, bytes, cudaMemcpyHostToDevice));
    dim3 threads(16, 16);
    dim3 blocks((width + 15) / 16, (width + 15) / 16);
    matmul_swapped<<<blocks, threads>>>(dA, dB, dC, width);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(hC, dC, bytes, cudaMemcpyDeviceToHost));
    double maxerr = 0;
    for (int y = blockIdx.y * blockDim.x + threadIdx.x;
        double s = 0;
        for (int i = 0; i < width; i++) s += (double)hA[y * width + i] * hB[i * width + x];
        maxerr = fmax(maxerr, fabs(s - hC[y * width + x]));
    }
    printf("max error %g\n", maxerr);
    cudaFree(dA); cudaFree(dB); cudaFree(dC); free(hA); free(hB); free(hC);
    return 0;
}

// Exercise 3: N = 500 is no multiple of the tile
#include <cstdio>
#include <cstdlib>
#include <cmath>
#define TILE 16

__global__ void tiledBounds(const float* A, const float* B, float* C, int n) {
    __shared__ float sA[TILE][TILE];
    __shared__ float sB[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    if (row >= n || col >= n) return;

    float acc = 0.0f;
    for (int t = 0; t < n / TILE; ++t) {
        sA[threadIdx.y][threadIdx.x] = A[row * n + t * TILE + threadIdx.x];
        sB[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            acc += sA[threadIdx.y][k] * sB[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + col] = acc;
}

int main() {
    int n = 500;
    size_t size = n * n * sizeof(float);
    float *hA = (float*)malloc(size), *hB = (float*)malloc(size), *hC = (float*)malloc(size);
    for (int i = 0; i < n * n; ++i) { hA[i] = 1.0f; hB[i] = 2.0f; }
    float *dA, *dB, *dC;
    cudaMalloc(&dA, size); cudaMalloc(&dB, size); cudaMalloc(&dC, size);
    cudaMemcpy(dA, hA, size, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, size, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    tiledBounds<<<grid, block>>>(dA, dB, dC, n);
    cudaMemcpy(hC, dC, size, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n * n; ++i)
        if (fabs(hC[i] - 2.0f * n) > 1e-3) { printf("wrong at %d: %f\n", i, hC[i]); return 1; }
    printf("ok\n");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC);
}

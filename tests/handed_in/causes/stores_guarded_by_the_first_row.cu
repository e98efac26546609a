// Blatt 5 d) 32 x 8 threads
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define TILE 32
#define BY 8
#define ROWS (TILE / BY)

__global__ void matmulRows(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum[ROWS] = {0.0f};
    for (int t = 0; t < K; t += TILE) {
        for (int i = 0; i < ROWS; i++) {
            int y = ty + i * BY;
            int r = blockIdx.y * TILE + y;
            As[y][tx] = (r < M && t + tx < K) ? A[r * K + t + tx] : 0.0f;
            Bs[y][tx] = (t + y < K && col < N) ? B[(t + y) * N + col] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            for (int i = 0; i < ROWS; i++)
                sum[i] += As[ty + i * BY][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        for (int i = 0; i < ROWS; i++)
            C[(row + i * BY) * N + col] = sum[i];
}

int main() {
    const int M = 200, N = 300, K = 150;
    size_t sizeA = M * K * sizeof(float), sizeB = K * N * sizeof(float), sizeC = M * N * sizeof(float);
    float *hA = (float *)malloc(sizeA), *hB = (float *)malloc(sizeB), *hC = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX - 0.5f;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, sizeA);
    cudaMalloc(&dB, sizeB);
    cudaMalloc(&dC, sizeC);
    cudaMemcpy(dA, hA, sizeA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sizeB, cudaMemcpyHostToDevice);

    dim3 block(TILE, BY);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmulRows<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaDeviceSynchronize();
    cudaMemcpy(hC, dC, sizeC, cudaMemcpyDeviceToHost);

    int errors = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += hA[i * K + k] * hB[k * N + j];
            if (fabs(s - hC[i * N + j]) > 1e-4f) errors++;
        }
    printf("%d errors\n", errors);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC);
    return errors != 0;
}

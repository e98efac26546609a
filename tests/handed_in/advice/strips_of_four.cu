#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define M 320
#define K 256
#define N 192
#define TILE_WIDTH 16

#define STRIP 4

// one thread computes 1 x 4 elements of C: tile of A 16 x 16, tile of B 16 x 64
__global__ void matMulTiledStrip(const float *A, const float *B, float *C)
{
    __shared__ float As[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Bs[TILE_WIDTH][TILE_WIDTH * STRIP];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = (blockIdx.x * TILE_WIDTH + tx) * STRIP;
    float sum[STRIP] = {0.0f};
    for (int t = 0; t < (K + TILE_WIDTH - 1) / TILE_WIDTH; t++) {
        int ka = t * TILE_WIDTH + tx, kb = t * TILE_WIDTH + ty;
        As[ty][tx] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        for (int j = 0; j < STRIP; j++)
            Bs[ty][tx * STRIP + j] = (kb < K && col + j < N) ? B[kb * N + col + j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++)
            for (int j = 0; j < STRIP; j++)
                sum[j] += As[ty][k] * Bs[k][tx * STRIP + j];
        __syncthreads();
    }
    for (int j = 0; j < STRIP; j++)
        if (row < M && col + j < N)
            C[row * N + col + j] = sum[j];
}

void cpuMatMul(const float *A, const float *B, float *C)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++)
                s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main()
{
    size_t sizeA = M * K * sizeof(float), sizeB = K * N * sizeof(float), sizeC = M * N * sizeof(float);
    float *hA = (float *)malloc(sizeA), *hB = (float *)malloc(sizeB);
    float *hC = (float *)malloc(sizeC), *ref = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, sizeA);
    cudaMalloc(&dB, sizeB);
    cudaMalloc(&dC, sizeC);
    cudaMemcpy(dA, hA, sizeA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sizeB, cudaMemcpyHostToDevice);

    dim3 block(TILE_WIDTH, TILE_WIDTH);
    dim3 grid((N + TILE_WIDTH * STRIP - 1) / (TILE_WIDTH * STRIP), (M + TILE_WIDTH - 1) / TILE_WIDTH);
    matMulTiledStrip<<<grid, block>>>(dA, dB, dC);
    cudaMemcpy(hC, dC, sizeC, cudaMemcpyDeviceToHost);

    cpuMatMul(hA, hB, ref);
    float maxErr = 0;
    for (int i = 0; i < M * N; i++) maxErr = fmaxf(maxErr, fabsf(hC[i] - ref[i]));
    printf("max error %g\n", maxErr);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC); free(ref);
    return 0;
}

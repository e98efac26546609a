#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CHECK(stmt) do { cudaError_t err = stmt; if (err != cudaSuccess) { \
    printf("failed %s: %s\n", #stmt, cudaGetErrorString(err)); exit(1); } } while (0)

#define TILE_WIDTH 16
#define OUT 32   // a block of 16 x 16 threads computes 32 x 32 elements

// each thread computes 2 x 2 neighbouring elements of C
__global__ void matrixMultiply2x2(float *A, float *B, float *C, int numARows, int numAColumns,
                                  int numBRows, int numBColumns, int numCRows, int numCColumns) {
    __shared__ float sA[OUT][TILE_WIDTH];
    __shared__ float sB[TILE_WIDTH][OUT];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * OUT, col0 = blockIdx.x * OUT;
    float c00 = 0, c01 = 0, c10 = 0, c11 = 0;
    int tiles = (numAColumns + TILE_WIDTH - 1) / TILE_WIDTH;
    for (int t = 0; t < tiles; t++) {
        for (int i = 0; i < OUT; i += TILE_WIDTH) {
            int r = row0 + ty + i, k = t * TILE_WIDTH + tx;
            if (r < numARows && k < numAColumns) sA[ty + i][tx] = A[r * numAColumns + k];
            int c = col0 + tx + i;
            k = t * TILE_WIDTH + ty;
            if (k < numBRows && c < numBColumns) sB[ty][tx + i] = B[k * numBColumns + c];
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++) {
            float a0 = sA[2 * ty][k], a1 = sA[2 * ty + 1][k];
            float b0 = sB[k][2 * tx], b1 = sB[k][2 * tx + 1];
            c00 += a0 * b0; c01 += a0 * b1;
            c10 += a1 * b0; c11 += a1 * b1;
        }
        __syncthreads();
    }
    int r = row0 + 2 * ty, c = col0 + 2 * tx;
    if (r < numCRows && c < numCColumns) {
        C[r * numCColumns + c] = c00;
        C[r * numCColumns + c + 1] = c01;
        C[(r + 1) * numCColumns + c] = c10;
        C[(r + 1) * numCColumns + c + 1] = c11;
    }
}

static int test(int numARows, int numAColumns, int numBRows, int numBColumns) {
    int numCRows = numARows, numCColumns = numBColumns;
    size_t sizeA = numARows * numAColumns * sizeof(float);
    size_t sizeB = numBRows * numBColumns * sizeof(float);
    size_t sizeC = numCRows * numCColumns * sizeof(float);
    float *hostA = (float *)malloc(sizeA), *hostB = (float *)malloc(sizeB), *hostC = (float *)malloc(sizeC);
    for (int i = 0; i < numARows * numAColumns; i++) hostA[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < numBRows * numBColumns; i++) hostB[i] = rand() / (float)RAND_MAX - 0.5f;

    float *deviceA, *deviceB, *deviceC;
    CHECK(cudaMalloc((void **)&deviceA, sizeA));
    CHECK(cudaMalloc((void **)&deviceB, sizeB));
    CHECK(cudaMalloc((void **)&deviceC, sizeC));
    CHECK(cudaMemcpy(deviceA, hostA, sizeA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(deviceB, hostB, sizeB, cudaMemcpyHostToDevice));

    dim3 dimGrid((numCColumns + OUT - 1) / OUT, (numCRows + OUT - 1) / OUT, 1);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    matrixMultiply2x2<<<dimGrid, dimBlock>>>(deviceA, deviceB, deviceC, numARows, numAColumns,
                                          numBRows, numBColumns, numCRows, numCColumns);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(hostC, deviceC, sizeC, cudaMemcpyDeviceToHost));

    int bad = 0;
    for (int i = 0; i < numCRows; i++)
        for (int j = 0; j < numCColumns; j++) {
            float s = 0;
            for (int k = 0; k < numAColumns; k++) s += hostA[i * numAColumns + k] * hostB[k * numBColumns + j];
            if (fabs(s - hostC[i * numCColumns + j]) > 1e-3) bad++;
        }
    printf("%d x %d x %d: %d wrong\n", numARows, numAColumns, numBColumns, bad);
    cudaFree(deviceA); cudaFree(deviceB); cudaFree(deviceC);
    free(hostA); free(hostB); free(hostC);
    return bad;
}

int main() {
    test(64, 64, 64, 64);
    test(200, 100, 100, 256);
    test(112, 48, 48, 16);
    test(84, 61, 61, 77);
    return 0;
}

#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CHECK(stmt) do { cudaError_t err = stmt; if (err != cudaSuccess) { \
    printf("failed %s: %s\n", #stmt, cudaGetErrorString(err)); exit(1); } } while (0)

#define TILE_WIDTH 16

// Compute C = A * B with tiles in shared memory
__global__ void matrixMultiplyShared(float *A, float *B, float *C, int numARows, int numAColumns,
                                     int numBRows, int numBColumns, int numCRows, int numCColumns) {
    __shared__ float ds_M[TILE_WIDTH][TILE_WIDTH];
    __shared__ float ds_N[TILE_WIDTH][TILE_WIDTH];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int Row = by * TILE_WIDTH + ty, Col = bx * TILE_WIDTH + tx;
    float Pvalue = 0;
    for (int m = 0; m < (numAColumns + TILE_WIDTH - 1) / TILE_WIDTH; ++m) {
        if (Row < numARows && m * TILE_WIDTH + tx < numAColumns)
            ds_M[ty][tx] = A[Row * numAColumns + m * TILE_WIDTH + tx];
        else
            ds_M[ty][tx] = 0;
        if (Col < numBColumns && m * TILE_WIDTH + ty < numBRows)
            ds_N[ty][tx] = B[(m * TILE_WIDTH + ty) * numBColumns + Col];
        else
            ds_N[ty][tx] = 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            Pvalue += ds_M[ty][k] * ds_N[k][tx];
    }
    if (Row < numCRows && Col < numCColumns)
        C[Row * numCColumns + Col] = Pvalue;
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

    dim3 dimGrid((numCColumns - 1) / TILE_WIDTH + 1, (numCRows - 1) / TILE_WIDTH + 1, 1);
    dim3 dimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    matrixMultiplyShared<<<dimGrid, dimBlock>>>(deviceA, deviceB, deviceC, numARows, numAColumns,
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

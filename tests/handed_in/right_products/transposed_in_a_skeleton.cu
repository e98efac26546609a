// Exercise 5 with the teacher's skeleton: A is stored transposed, i.e. A has K rows and M columns
// numARows = K = 100, numAColumns = M = 200
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define TILE_WIDTH 16

__global__ void matMulTransA(float *A, float *B, float *C,
                             int numARows, int numAColumns,
                             int numBRows, int numBColumns,
                             int numCRows, int numCColumns)
{
    __shared__ float tileA[TILE_WIDTH][TILE_WIDTH];  // [k][row of C]
    __shared__ float tileB[TILE_WIDTH][TILE_WIDTH];  // [k][col of C]

    int rowStart = blockIdx.y * TILE_WIDTH;
    int Row = rowStart + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float Cvalue = 0.0;

    for (int p = 0; p < (numARows + TILE_WIDTH - 1) / TILE_WIDTH; ++p) {
        int k = p * TILE_WIDTH + threadIdx.y;
        // corner turning: threadIdx.x goes along the stored row of A
        int aCol = rowStart + threadIdx.x;
        if (k < numARows && aCol < numAColumns)
            tileA[threadIdx.y][threadIdx.x] = A[k * numAColumns + aCol];
        else
            tileA[threadIdx.y][threadIdx.x] = 0.0;
        if (k < numBRows && Col < numBColumns)
            tileB[threadIdx.y][threadIdx.x] = B[k * numBColumns + Col];
        else
            tileB[threadIdx.y][threadIdx.x] = 0.0;
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; ++i)
            Cvalue += tileA[i][threadIdx.y] * tileB[i][threadIdx.x];
        __syncthreads();
    }
    if (Row < numCRows && Col < numCColumns)
        C[Row * numCColumns + Col] = Cvalue;
}

int main(int argc, char *argv[])
{
    int numARows = 100, numAColumns = 200;
    int numBRows = 100, numBColumns = 256;
    int numCRows, numCColumns;
    numCRows = numAColumns;
    numCColumns = numBColumns;

    float *hostA = (float *)malloc(numARows * numAColumns * sizeof(float));
    float *hostB = (float *)malloc(numBRows * numBColumns * sizeof(float));
    float *hostC = (float *)malloc(numCRows * numCColumns * sizeof(float));
    for (int i = 0; i < numARows * numAColumns; ++i) hostA[i] = (float)(i % 13) / 13;
    for (int i = 0; i < numBRows * numBColumns; ++i) hostB[i] = (float)(i % 17) / 17;

    float *deviceA, *deviceB, *deviceC;
    cudaMalloc((void **)&deviceA, numARows * numAColumns * sizeof(float));
    cudaMalloc((void **)&deviceB, numBRows * numBColumns * sizeof(float));
    cudaMalloc((void **)&deviceC, numCRows * numCColumns * sizeof(float));
    cudaMemcpy(deviceA, hostA, numARows * numAColumns * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(deviceB, hostB, numBRows * numBColumns * sizeof(float), cudaMemcpyHostToDevice);

    dim3 DimGrid(ceil(1.0 * numCColumns / TILE_WIDTH), ceil(1.0 * numCRows / TILE_WIDTH), 1);
    dim3 DimBlock(TILE_WIDTH, TILE_WIDTH, 1);
    matMulTransA<<<DimGrid, DimBlock>>>(deviceA, deviceB, deviceC, numARows, numAColumns, numBRows, numBColumns, numCRows, numCColumns);
    cudaDeviceSynchronize();
    cudaMemcpy(hostC, deviceC, numCRows * numCColumns * sizeof(float), cudaMemcpyDeviceToHost);

    // check against the CPU
    int errors = 0;
    for (int i = 0; i < numCRows; ++i)
        for (int j = 0; j < numCColumns; ++j) {
            float s = 0;
            for (int k = 0; k < numARows; ++k) s += hostA[k * numAColumns + i] * hostB[k * numBColumns + j];
            if (fabs(s - hostC[i * numCColumns + j]) > 1e-3) errors++;
        }
    printf("%s (%d errors)\n", errors ? "FAILED" : "PASSED", errors);
    cudaFree(deviceA); cudaFree(deviceB); cudaFree(deviceC);
    free(hostA); free(hostB); free(hostC);
    return 0;
}

/* exercise 5: B is transposed in memory, so that rows of Bt are the columns of B */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define A_WIDTH  1024
#define A_HEIGHT 1024
#define B_WIDTH  1024
#define B_HEIGHT A_WIDTH
#define C_WIDTH  B_WIDTH
#define C_HEIGHT A_HEIGHT
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
#endif

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_Bt[B_WIDTH][B_HEIGHT];   // transposed!
__device__ float d_C[C_HEIGHT][C_WIDTH];

static float h_A[A_HEIGHT][A_WIDTH], h_B[B_HEIGHT][B_WIDTH], h_Bt[B_WIDTH][B_HEIGHT], h_C[C_HEIGHT][C_WIDTH];

__global__ void matrixMulTransposed()
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BLOCK_SIZE + ty;
    int col = blockIdx.x * BLOCK_SIZE + tx;

    float sum = 0.0f;
    for (int t = 0; t < A_WIDTH / BLOCK_SIZE; t++) {
        As[ty][tx] = d_A[row][t * BLOCK_SIZE + tx];
        // row of Bt = column of B
        Bs[ty][tx] = d_Bt[blockIdx.x * BLOCK_SIZE + ty][t * BLOCK_SIZE + tx];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; k++)
            sum += As[ty][k] * Bs[tx][k];
        __syncthreads();
    }
    d_C[row][col] = sum;
}

int main(void)
{
    for (int i = 0; i < A_HEIGHT; i++)
        for (int j = 0; j < A_WIDTH; j++) h_A[i][j] = (i + j) % 7;
    for (int i = 0; i < B_HEIGHT; i++)
        for (int j = 0; j < B_WIDTH; j++) h_B[i][j] = (i * 3 + j) % 5;
    // transpose on the host
    for (int i = 0; i < B_HEIGHT; i++)
        for (int j = 0; j < B_WIDTH; j++) h_Bt[j][i] = h_B[i][j];

    cudaMemcpyToSymbol(d_A, h_A, sizeof(h_A));
    cudaMemcpyToSymbol(d_Bt, h_Bt, sizeof(h_Bt));

    cudaEvent_t t0, t1;
    float ms;
    cudaEventCreate(&t0); cudaEventCreate(&t1);
    dim3 threads(BLOCK_SIZE, BLOCK_SIZE), blocks(C_WIDTH / BLOCK_SIZE, C_HEIGHT / BLOCK_SIZE);
    cudaEventRecord(t0);
    matrixMulTransposed<<<blocks, threads>>>();
    cudaEventRecord(t1);
    cudaEventSynchronize(t1);
    cudaEventElapsedTime(&ms, t0, t1);
    cudaMemcpyFromSymbol(h_C, d_C, sizeof(h_C));

    int bad = 0;
    for (int i = 0; i < C_HEIGHT; i += 37)
        for (int j = 0; j < C_WIDTH; j += 41) {
            float s = 0;
            for (int k = 0; k < A_WIDTH; k++) s += h_A[i][k] * h_B[k][j];
            if (fabsf(s - h_C[i][j]) > 0.01f * s) bad++;
        }
    printf("%s, %.3f ms, %.1f GFLOP/s\n", bad ? "WRONG" : "ok", ms, 2e-6 * A_HEIGHT * A_WIDTH * B_WIDTH / ms);
    return 0;
}

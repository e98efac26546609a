/* COM4521 lab: one thread per ROW of the result.
 * Compare the performance with the one-thread-per-element version of last week.
 */
#include <stdlib.h>
#include <stdio.h>
#include <math.h>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"

#define A_WIDTH 300
#define A_HEIGHT 700
#define B_WIDTH 220
#define B_HEIGHT A_WIDTH
#define C_WIDTH B_WIDTH
#define C_HEIGHT A_HEIGHT

#define THREADS_PER_BLOCK 128

typedef float matrixA[A_HEIGHT][A_WIDTH];
typedef float matrixB[B_HEIGHT][B_WIDTH];
typedef float matrixC[C_HEIGHT][C_WIDTH];

__device__ float d_A[A_HEIGHT][A_WIDTH];
__device__ float d_B[B_HEIGHT][B_WIDTH];
__device__ float d_C[C_HEIGHT][C_WIDTH];

matrixA h_A;
matrixB h_B;
matrixC h_C;

void checkCUDAError(const char *msg)
{
	cudaError_t err = cudaGetLastError();
	if (cudaSuccess != err)
	{
		fprintf(stderr, "CUDA ERROR: %s: %s.\n", msg, cudaGetErrorString(err));
		exit(EXIT_FAILURE);
	}
}

__global__ void matrixMulRow()
{
	int y = blockIdx.x * blockDim.x + threadIdx.x;

	if (y < C_HEIGHT)
	{
		for (int x = 0; x < C_WIDTH; x++)
		{
			float sum = 0;
			for (int k = 0; k < A_WIDTH; k++)
				sum += d_A[y][k] * d_B[k][x];
			d_C[y][x] = sum;
		}
	}
}

int main(int argc, char **argv)
{
	for (int y = 0; y < A_HEIGHT; y++)
		for (int x = 0; x < A_WIDTH; x++)
			h_A[y][x] = (float)rand() / RAND_MAX;
	for (int y = 0; y < B_HEIGHT; y++)
		for (int x = 0; x < B_WIDTH; x++)
			h_B[y][x] = (float)rand() / RAND_MAX;

	cudaMemcpyToSymbol(d_A, h_A, sizeof(matrixA));
	cudaMemcpyToSymbol(d_B, h_B, sizeof(matrixB));
	checkCUDAError("CUDA memcpy");

	int blocks = (int)ceil((double)C_HEIGHT / THREADS_PER_BLOCK);
	matrixMulRow<<<blocks, THREADS_PER_BLOCK>>>();
	cudaDeviceSynchronize();
	checkCUDAError("CUDA kernel execution");

	cudaMemcpyFromSymbol(h_C, d_C, sizeof(matrixC));
	checkCUDAError("CUDA memcpy back");

	int errors = 0;
	for (int y = 0; y < C_HEIGHT; y++)
		for (int x = 0; x < C_WIDTH; x++)
		{
			float ref = 0;
			for (int k = 0; k < A_WIDTH; k++)
				ref += h_A[y][k] * h_B[k][x];
			if (fabs(ref - h_C[y][x]) > 1e-3f * ref)
				errors++;
		}
	if (errors)
		printf("%d errors found\n", errors);
	else
		printf("Test passed successfully\n");
	return 0;
}

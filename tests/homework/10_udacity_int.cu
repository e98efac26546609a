// Problem Set - integer matrix product
// One kernel, parallel per element, 1D grid of 1D blocks

#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include "timer.h"

const int N = 1000;       // matrix size is NxN
const int THREADS = 256;

void mm_CPU(const int in1[], const int in2[], int out[])
{
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++)
		{
			int s = 0;
			for (int k = 0; k < N; k++)
				s += in1[j * N + k] * in2[k * N + i];
			out[j * N + i] = s;  // out(i,j)
		}
}

// to be launched with one thread per element of the output
__global__ void
mm_parallel_per_element(const int in1[], const int in2[], int out[])
{
	int idx = blockIdx.x * blockDim.x + threadIdx.x;
	if (idx >= N * N) return;

	int j = idx / N;
	int i = idx % N;

	int s = 0;
	for (int k = 0; k < N; k++)
		s += in1[j * N + k] * in2[k * N + i];

	out[j * N + i] = s;
}

int compare_matrices(int *gpu, int *ref)
{
	int result = 0;
	for (int j = 0; j < N; j++)
		for (int i = 0; i < N; i++)
			if (ref[i + j*N] != gpu[i + j*N])
				result = 1;
	return result;
}

int main(int argc, char **argv)
{
	size_t numbytes = N * N * sizeof(int);

	int *a    = (int *) malloc(numbytes);
	int *b    = (int *) malloc(numbytes);
	int *out  = (int *) malloc(numbytes);
	int *gold = (int *) malloc(numbytes);

	for (int i = 0; i < N * N; i++)
	{
		a[i] = rand() % 21 - 10;
		b[i] = rand() % 21 - 10;
	}
	mm_CPU(a, b, gold);

	int *d_a, *d_b, *d_out;
	cudaMalloc(&d_a, numbytes);
	cudaMalloc(&d_b, numbytes);
	cudaMalloc(&d_out, numbytes);
	cudaMemcpy(d_a, a, numbytes, cudaMemcpyHostToDevice);
	cudaMemcpy(d_b, b, numbytes, cudaMemcpyHostToDevice);

	GpuTimer timer;
	timer.Start();
	mm_parallel_per_element<<<(N * N + THREADS - 1) / THREADS, THREADS>>>(d_a, d_b, d_out);
	timer.Stop();
	cudaMemcpy(out, d_out, numbytes, cudaMemcpyDeviceToHost);
	printf("mm_parallel_per_element: %g ms.\nVerifying product...%s\n",
	       timer.Elapsed(), compare_matrices(out, gold) ? "Failed" : "Success");

	cudaFree(d_a); cudaFree(d_b); cudaFree(d_out);
	free(a); free(b); free(out); free(gold);
	return 0;
}

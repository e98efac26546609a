// CS 5220-ish homework: matrix multiply, find the best block size.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLK 40
#define NN  1000   /* divisible by BLK */

typedef struct { int rows, cols; float *data; } mat_t;

static mat_t mat_new(int r, int c)
{
	mat_t m = { r, c, (float *)calloc(r * c, sizeof(float)) };
	return m;
}

__global__ void mm_tiled(const float *a, const float *b, float *c, int n)
{
	__shared__ float sa[BLK][BLK];
	__shared__ float sb[BLK][BLK];
	int i = blockIdx.y * BLK + threadIdx.y;
	int j = blockIdx.x * BLK + threadIdx.x;
	float acc = 0.0f;
	int t, k;

	for (t = 0; t < n; t += BLK) {
		sa[threadIdx.y][threadIdx.x] = a[i * n + t + threadIdx.x];
		sb[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + j];
		__syncthreads();
		for (k = 0; k < BLK; k++)
			acc += sa[threadIdx.y][k] * sb[k][threadIdx.x];
		__syncthreads();
	}
	c[i * n + j] = acc;
}

static void gpu_mm(mat_t a, mat_t b, mat_t c, int n)
{
	float *da, *db, *dc;
	size_t sz = (size_t)n * n * sizeof(float);
	cudaEvent_t s, e;
	float ms;

	cudaMalloc((void **)&da, sz);
	cudaMalloc((void **)&db, sz);
	cudaMalloc((void **)&dc, sz);
	cudaMemcpy(da, a.data, sz, cudaMemcpyHostToDevice);
	cudaMemcpy(db, b.data, sz, cudaMemcpyHostToDevice);
	cudaEventCreate(&s);
	cudaEventCreate(&e);

	cudaEventRecord(s, 0);
	mm_tiled<<<dim3(n / BLK, n / BLK), dim3(BLK, BLK)>>>(da, db, dc, n);
	cudaEventRecord(e, 0);
	cudaEventSynchronize(e);
	cudaEventElapsedTime(&ms, s, e);
	printf("BLK=%d: %f ms = %f GFLOP/s\n", BLK, ms, 2.0 * n * n * n / 1e6 / ms);

	cudaMemcpy(c.data, dc, sz, cudaMemcpyDeviceToHost);
	cudaFree(da);
	cudaFree(db);
	cudaFree(dc);
}

int main(void)
{
	mat_t a = mat_new(NN, NN), b = mat_new(NN, NN), c = mat_new(NN, NN);
	int i;

	for (i = 0; i < NN * NN; i++) {
		a.data[i] = (float)(i % 100) / 100;
		b.data[i] = (float)(i % 77) / 77;
	}
	gpu_mm(a, b, c, NN);
	printf("c[0][0] = %f, c[%d][%d] = %f\n", c.data[0], NN - 1, NN - 1, c.data[NN * NN - 1]);
	free(a.data);
	free(b.data);
	free(c.data);
	return 0;
}

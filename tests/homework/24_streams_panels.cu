// Overlapping copies and computation: the rows of A and C are cut into panels,
// each panel gets its own stream. Pinned host memory is required for real overlap.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define NSTREAMS 4
#define BS 16

#define CHECK(x) { cudaError_t _e = (x); if (_e) { printf("%s line %d: %s\n", #x, __LINE__, cudaGetErrorString(_e)); exit(EXIT_FAILURE); } }

__global__ void gemmPanel(const float *A, const float *B, float *C, int rows, int n, int k)
{
	__shared__ float tA[BS][BS], tB[BS][BS];
	int r = blockIdx.y * BS + threadIdx.y;
	int c = blockIdx.x * BS + threadIdx.x;
	float v = 0.f;

	for (int p = 0; p < k; p += BS) {
		int ca = p + threadIdx.x;
		int rb = p + threadIdx.y;
		tA[threadIdx.y][threadIdx.x] = (r < rows && ca < k) ? A[r * k + ca] : 0.f;
		tB[threadIdx.y][threadIdx.x] = (rb < k && c < n) ? B[rb * n + c] : 0.f;
		__syncthreads();
		for (int q = 0; q < BS; q++)
			v += tA[threadIdx.y][q] * tB[q][threadIdx.x];
		__syncthreads();
	}
	if (r < rows && c < n)
		C[r * n + c] = v;
}

int main(int argc, char **argv)
{
	int m = 1003, n = 400, k = 250;
	if (argc > 3) { m = atoi(argv[1]); n = atoi(argv[2]); k = atoi(argv[3]); }

	float *A, *B, *C, *dA, *dB, *dC;
	CHECK(cudaMallocHost(&A, sizeof(float) * m * k));
	CHECK(cudaMallocHost(&B, sizeof(float) * k * n));
	CHECK(cudaMallocHost(&C, sizeof(float) * m * n));
	CHECK(cudaMalloc(&dA, sizeof(float) * m * k));
	CHECK(cudaMalloc(&dB, sizeof(float) * k * n));
	CHECK(cudaMalloc(&dC, sizeof(float) * m * n));
	for (int i = 0; i < m * k; i++) A[i] = (i % 17) * 0.25f;
	for (int i = 0; i < k * n; i++) B[i] = (i % 19) * 0.5f - 4.f;

	cudaStream_t st[NSTREAMS];
	for (int s = 0; s < NSTREAMS; s++) CHECK(cudaStreamCreate(&st[s]));

	// B is needed by everyone: a blocking copy before the panels start
	CHECK(cudaMemcpy(dB, B, sizeof(float) * k * n, cudaMemcpyHostToDevice));

	int panel = (m + NSTREAMS - 1) / NSTREAMS;
	for (int s = 0; s < NSTREAMS; s++) {
		int first = s * panel;
		int rows = (first + panel <= m) ? panel : m - first;
		if (rows <= 0) break;
		CHECK(cudaMemcpyAsync(dA + first * k, A + first * k, sizeof(float) * rows * k,
		                      cudaMemcpyHostToDevice, st[s]));
		dim3 grid((n + BS - 1) / BS, (rows + BS - 1) / BS);
		gemmPanel<<<grid, dim3(BS, BS), 0, st[s]>>>(dA + first * k, dB, dC + first * n, rows, n, k);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(C + first * n, dC + first * n, sizeof(float) * rows * n,
		                      cudaMemcpyDeviceToHost, st[s]));
	}
	CHECK(cudaDeviceSynchronize());

	int wrong = 0;
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			double s = 0;
			for (int q = 0; q < k; q++) s += (double)A[i * k + q] * B[q * n + j];
			if (fabs(s - C[i * n + j]) > 1e-3 * (1 + fabs(s))) wrong++;
		}
	printf("%d wrong of %d\n", wrong, m * n);
	for (int s = 0; s < NSTREAMS; s++) cudaStreamDestroy(st[s]);
	cudaFree(dA); cudaFree(dB); cudaFree(dC);
	cudaFreeHost(A); cudaFreeHost(B); cudaFreeHost(C);
	return wrong != 0;
}

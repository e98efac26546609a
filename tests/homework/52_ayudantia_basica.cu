// Ayudantía 5 - Multiplicar dos matrices cuadradas en la GPU
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__global__ void mulMat(const float *A, const float *B, float *C, int n)
{
	int i = blockIdx.y*blockDim.y + threadIdx.y;  // fila
	int j = blockIdx.x*blockDim.x + threadIdx.x;  // columna
	float acum = 0;

	for (int k = 0; k < n; k++)
		acum += A[i*n + k]*B[k*n + j];

	C[i*n + j] = acum;
}

void llenar(float *m, int n)
{
	for (int i = 0; i < n*n; i++)
		m[i] = rand()%5;
}

void imprimirEsquina(const float *m, int n)
{
	for (int i = 0; i < 4; i++) {
		for (int j = 0; j < 4; j++)
			printf("%8.1f ", m[i*n + j]);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		printf("Uso: ./mulmat N\n");
		printf("ejemplo: ./mulmat 1000\n");
		return 1;
	}
	int n = atoi(argv[1]);
	if (n < 4) return 1;
	size_t bytes = n*n*sizeof(float);

	float *A = (float*)malloc(bytes);
	float *B = (float*)malloc(bytes);
	float *C = (float*)malloc(bytes);
	llenar(A, n);
	llenar(B, n);

	float *A_gpu, *B_gpu, *C_gpu;
	cudaMalloc(&A_gpu, bytes);
	cudaMalloc(&B_gpu, bytes);
	cudaMalloc(&C_gpu, bytes);
	cudaMemcpy(A_gpu, A, bytes, cudaMemcpyHostToDevice);
	cudaMemcpy(B_gpu, B, bytes, cudaMemcpyHostToDevice);

	int tb = 32;
	dim3 block(tb, tb);
	dim3 grid((n + tb - 1)/tb, (n + tb - 1)/tb);

	clock_t t1 = clock();
	mulMat<<<grid, block>>>(A_gpu, B_gpu, C_gpu, n);
	cudaDeviceSynchronize();
	clock_t t2 = clock();
	printf("Tiempo: %.4f s\n", (double)(t2 - t1)/CLOCKS_PER_SEC);

	cudaMemcpy(C, C_gpu, bytes, cudaMemcpyDeviceToHost);
	imprimirEsquina(C, n);

	cudaFree(A_gpu); cudaFree(B_gpu); cudaFree(C_gpu);
	free(A); free(B); free(C);
	return 0;
}

// Lab 2, method 1 (after the hint of the tool): x = column
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

const int N = 1024;
const int BLOCK_SIZE = 16;

__global__ void gpu_matmul(const int *a, const int *b, int *c, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

static bool compare(const int *x, const int *y)
{
    for (int i = 0; i < N * N; i++)
        if (x[i] != y[i]) { printf("mismatch at (%d, %d)\n", i / N, i % N); return false; }
    return true;
}

int main()
{
    int *a = new int[N * N], *b = new int[N * N], *c = new int[N * N], *ref = new int[N * N]();
    for (int i = 0; i < N * N; i++) { a[i] = rand() % 100; b[i] = rand() % 100; }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                ref[i * N + j] += a[i * N + k] * b[k * N + j];
    int *da, *db, *dc;
    cudaMalloc((void **)&da, N * N * sizeof(int));
    cudaMalloc((void **)&db, N * N * sizeof(int));
    cudaMalloc((void **)&dc, N * N * sizeof(int));
    cudaMemcpy(da, a, N * N * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, N * N * sizeof(int), cudaMemcpyHostToDevice);
    dim3 threads(BLOCK_SIZE, BLOCK_SIZE);
    dim3 blocks(N / BLOCK_SIZE, N / BLOCK_SIZE);
    float sum_ms = 0;
    cudaEvent_t t0, t1;
    cudaEventCreate(&t0); cudaEventCreate(&t1);
    for (int r = 0; r < 5; r++) {
        float ms = 0;
        cudaEventRecord(t0);
        gpu_matmul<<<blocks, threads>>>(da, db, dc, N);
        cudaEventRecord(t1);
        cudaEventSynchronize(t1);
        cudaEventElapsedTime(&ms, t0, t1);
        sum_ms += ms;
    }
    cudaMemcpy(c, dc, N * N * sizeof(int), cudaMemcpyDeviceToHost);
    printf("average time %.3f ms\n", sum_ms / 5);
    if (compare(c, ref)) printf("Success!\n");
    cudaFree(da); cudaFree(db); cudaFree(dc);
    delete[] a; delete[] b; delete[] c; delete[] ref;
}

#include <cuda_runtime.h>
#define T 8

__global__ void naive(const int *a, const int *b, int *c, int n)
{
    int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
    if (i >= n || j >= n) return;
    int sum = 0;
    for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

__global__ void tiled(const int *a, const int *b, int *c, int n)
{
    __shared__ int left[T][T], right[T][T];
    int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x, sum = 0;
    for (int t = 0; t < n; t += T) {
        left[threadIdx.y][threadIdx.x] = i < n && t + threadIdx.x < n ? a[i * n + t + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = j < n && t + threadIdx.y < n ? b[(t + threadIdx.y) * n + j] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    if (i < n && j < n) c[i * n + j] = sum;
}

int main()
{
    int n = 40;
    int *a, *b, *c;
    cudaMalloc(&a, n * n * sizeof(int));
    cudaMalloc(&b, n * n * sizeof(int));
    cudaMalloc(&c, n * n * sizeof(int));
    dim3 block(T, T), grid((n + T - 1) / T, (n + T - 1) / T);
    naive<<<grid, block>>>(a, b, c, n);
    tiled<<<grid, block>>>(a, b, c, n);
    cudaDeviceSynchronize();
}

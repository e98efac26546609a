#include <cuda_runtime.h>
#define T 8

__global__ void guarded(const int *A, const int *B, int *C, int m, int n, int k)
{
    __shared__ int a[T][T], b[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x, sum = 0;
    for (int tile = 0; tile < k / T; tile++) {
        a[threadIdx.y][threadIdx.x] = row < m ? A[row * k + tile * T + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = col < n ? B[(tile * T + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

int main()
{
    int m = 50, n = 70, k = 45;
    int *A, *B, *C;
    cudaMalloc(&A, m * k * sizeof(int));
    cudaMalloc(&B, k * n * sizeof(int));
    cudaMalloc(&C, m * n * sizeof(int));
    guarded<<<dim3((n + T - 1) / T, (m + T - 1) / T), dim3(T, T)>>>(A, B, C, m, n, k);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

__global__ void tiled(const int *A, const int *B, int *C, int n)
{
    extern __shared__ int tiles[];
    int width = blockDim.x;
    int *a = tiles;
    int *b = &tiles[width * width];
    int row = blockIdx.y * width + threadIdx.y;
    int col = blockIdx.x * width + threadIdx.x;
    int own = threadIdx.y * width + threadIdx.x;
    int sum = 0;
    for (int t = 0; t < n; t += width) {
        a[own] = row < n && t + threadIdx.x < n ? A[row * n + t + threadIdx.x] : 0;
        b[own] = t + threadIdx.y < n && col < n ? B[(t + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < width; k++)
            sum += a[threadIdx.y * width + k] * b[k * width + threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        C[row * n + col] = sum;
}

int main()
{
    int n = 72, width = 8;
    int *A, *B, *C;
    cudaMalloc(&A, n * n * sizeof(int));
    cudaMalloc(&B, n * n * sizeof(int));
    cudaMalloc(&C, n * n * sizeof(int));
    dim3 block(width, width), grid((n + width - 1) / width, (n + width - 1) / width);
    tiled<<<grid, block, 2 * width * width * sizeof(int)>>>(A, B, C, n);
    cudaDeviceSynchronize();
}

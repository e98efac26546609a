#include <cuda_runtime.h>

#define WIDTH 16
#define HEIGHT 4

__global__ void wide_blocks(const double *A, const double *B, double *C, int M, int N, int K)
{
    __shared__ double a[HEIGHT][WIDTH];
    __shared__ double b[HEIGHT][WIDTH];
    int col = blockIdx.x * WIDTH + threadIdx.x, row = blockIdx.y * HEIGHT + threadIdx.y;
    double sum = 0;
    for (int t = 0; t < K; t += WIDTH) {
        a[threadIdx.y][threadIdx.x] = row < M && t + threadIdx.x < K ? A[row * K + t + threadIdx.x] : 0;
        for (int i = threadIdx.y; i < WIDTH; i += HEIGHT)
            b[i][threadIdx.x] = t + i < K && col < N ? B[(t + i) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < WIDTH; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

int main()
{
    int M = 70, N = 90, K = 50;
    double *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(double));
    cudaMalloc(&B, K * N * sizeof(double));
    cudaMalloc(&C, M * N * sizeof(double));
    wide_blocks<<<dim3((N + WIDTH - 1) / WIDTH, (M + HEIGHT - 1) / HEIGHT), dim3(WIDTH, HEIGHT)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

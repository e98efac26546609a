#include <cuda_runtime.h>
#define T 16
#define PARTS 4

__global__ void split(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[T][T], b[T][T];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    int part = (K + PARTS - 1) / PARTS;
    int first = blockIdx.z * part, last = first + part;
    float sum = 0;
    for (int k0 = first; k0 < last; k0 += T) {
        a[y][x] = row < M && k0 + x < last ? A[row * K + k0 + x] : 0;
        b[y][x] = k0 + y < last && col < N ? B[(k0 + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++)
            sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < M && col < N)
        atomicAdd(&C[row * N + col], sum);
}

int main()
{
    int M = 64, N = 48, K = 201;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    cudaMemset(C, 0, M * N * sizeof(float));
    split<<<dim3((N + T - 1) / T, (M + T - 1) / T, PARTS), dim3(T, T)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
#define T 16

__global__ void stay(const float *A, const float *Bt, float *C, int M, int N, int K)
{
    __shared__ float a[T][T + 1], b[T][T + 1];
    int across = (N + T - 1) / T, down = (M + T - 1) / T;
    int x = threadIdx.x, y = threadIdx.y;
    for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
        int row = tile / across * T + y, first = tile % across * T, col = first + x;
        float sum = 0;
        for (int k0 = 0; k0 < K; k0 += T) {
            a[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0;
            b[y][x] = first + y < N && k0 + x < K ? Bt[(first + y) * K + k0 + x] : 0;
            __syncthreads();
            for (int k = 0; k < T; k++)
                sum += a[y][k] * b[k][x];
            __syncthreads();
        }
        if (row < M && col < N)
            C[row * N + col] = sum;
    }
}

int main()
{
    int M = 300, N = 200, K = 100;
    float *A, *Bt, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&Bt, N * K * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    stay<<<40, dim3(T, T)>>>(A, Bt, C, M, N, K);
    cudaDeviceSynchronize();
}

// Aufgabe 5b: flat shared arrays with padding; B tile transposed
#include <cstdio>
#define T 16
#define LD (T + 1)

__global__ void mm_flat(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[T * LD];
    __shared__ float Bt[T * LD];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float v = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[y * LD + x] = (row < M && k0 + x < K) ? A[row * K + k0 + x] : 0;
        Bt[x * LD + y] = (k0 + y < K && col < N) ? B[(k0 + y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < T; k++)
            v += As[y * LD + k] * Bt[x * LD + k];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = v;
}

int main()
{
    const int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc((void**)&A, sizeof(float) * M * K);
    cudaMalloc((void**)&B, sizeof(float) * K * N);
    cudaMalloc((void**)&C, sizeof(float) * M * N);
    dim3 block(T, T), grid((N + T - 1) / T, (M + T - 1) / T);
    mm_flat<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

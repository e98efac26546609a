// Aufgabe 5: tile of B stored transposed, argument PADDING against bank conflicts
#include <cstdio>
#include <cstdlib>
#define T 32
#ifndef PADDING
#define PADDING 1
#endif

__global__ void mm_tileT(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[T][T + PADDING];
    __shared__ float BsT[T][T + PADDING];   // BsT[col][k]
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float v = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        if (row < M && col < N) {
            As[y][x] = (k0 + x < K) ? A[row * K + k0 + x] : 0;
            BsT[x][y] = (k0 + y < K) ? B[(k0 + y) * N + col] : 0;
        }
        __syncthreads();
        if (row < M && col < N) {
            for (int k = 0; k < T; k++)
                v += As[y][k] * BsT[x][k];
        }
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = v;
}

int main(int argc, char **argv)
{
    int M = 200, N = 300, K = 100;
    if (argc == 4) { M = atoi(argv[1]); N = atoi(argv[2]); K = atoi(argv[3]); }
    float *A, *B, *C;
    cudaMallocManaged(&A, sizeof(float) * M * K);
    cudaMallocManaged(&B, sizeof(float) * K * N);
    cudaMallocManaged(&C, sizeof(float) * M * N);
    dim3 block(T, T), grid((N + T - 1) / T, (M + T - 1) / T);
    mm_tileT<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

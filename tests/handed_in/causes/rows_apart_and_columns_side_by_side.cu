// Sound: a thread's rows are 16 apart, its columns side by side, in the tiles as in C.
#include <cuda_runtime.h>
#include <cstdio>
__global__ void mixed(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[16][64], Bs[16][64];
    const int tid = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.y * 64 + threadIdx.y;
    float acc[4][4] = {};
    float fa[4], fb[4];
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int e = tid; e < 1024; e += 256) {
            As[e % 16][e / 16] = A[(blockIdx.y * 64 + e / 16) * K + k0 + e % 16];
            Bs[e / 64][e % 64] = B[(k0 + e / 64) * N + blockIdx.x * 64 + e % 64];
        }
        __syncthreads();
        for (int k = 0; k < 16; k++) {
            for (int i = 0; i < 4; i++) { fa[i] = As[k][threadIdx.y + 16 * i]; fb[i] = Bs[k][threadIdx.x * 4 + i]; }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) acc[i][j] += fa[i] * fb[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            C[(row + 16 * i) * N + blockIdx.x * 64 + threadIdx.x * 4 + j] = acc[i][j];
}

int main()
{
    int M = 256, N = 128, K = 64;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    mixed<<<dim3(N / 64, M / 64), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

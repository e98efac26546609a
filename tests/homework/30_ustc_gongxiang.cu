/* 并行程序设计 上机作业 */
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define TILE_SIZE 16
#define BLOCK_X 32
#define BLOCK_Y 32

/* C(M*N) = A(M*K) * B(K*N)，使用共享内存 */
__global__ void matMulShared(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float As[TILE_SIZE][TILE_SIZE];
    __shared__ float Bs[TILE_SIZE][TILE_SIZE];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * blockDim.y + ty;
    int col = blockIdx.x * blockDim.x + tx;
    int tile = blockDim.x;

    float value = 0.0f;
    for (int t = 0; t < (K + tile - 1) / tile; t++) {
        int aCol = t * tile + tx;
        int bRow = t * tile + ty;
        As[ty][tx] = (row < M && aCol < K) ? A[row * K + aCol] : 0.0f;
        Bs[ty][tx] = (bRow < K && col < N) ? B[bRow * N + col] : 0.0f;
        __syncthreads();

        for (int k = 0; k < tile; k++)
            value += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }

    if (row < M && col < N)
        C[row * N + col] = value;
}

/* CPU 串行版本，用于对比 */
void matMulCPU(const float *A, const float *B, float *C, int M, int K, int N)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++)
                s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
    }
}

int main(int argc, char *argv[])
{
    int M = 512, K = 256, N = 384;
    if (argc == 4) {
        M = atoi(argv[1]);
        K = atoi(argv[2]);
        N = atoi(argv[3]);
    }
    size_t sa = M * K * sizeof(float);
    size_t sb = K * N * sizeof(float);
    size_t sc = M * N * sizeof(float);
    float *A = (float *)malloc(sa);
    float *B = (float *)malloc(sb);
    float *C = (float *)malloc(sc);
    float *Cref = (float *)malloc(sc);
    for (int i = 0; i < M * K; i++) A[i] = rand() % 4;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 4;

    float *dA, *dB, *dC;
    cudaMalloc((void **)&dA, sa);
    cudaMalloc((void **)&dB, sb);
    cudaMalloc((void **)&dC, sc);
    cudaMemcpy(dA, A, sa, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, sb, cudaMemcpyHostToDevice);

    dim3 block(BLOCK_X, BLOCK_Y);
    dim3 grid((N + BLOCK_X - 1) / BLOCK_X, (M + BLOCK_Y - 1) / BLOCK_Y);
    matMulShared<<<grid, block>>>(dA, dB, dC, M, K, N);
    cudaMemcpy(C, dC, sc, cudaMemcpyDeviceToHost);

    matMulCPU(A, B, Cref, M, K, N);
    int diff = 0;
    for (int i = 0; i < M * N; i++)
        if (C[i] != Cref[i]) diff++;
    printf(diff ? "结果错误 %d\n" : "结果正确 %d\n", diff);

    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C); free(Cref);
    return 0;
}

// Exercise 4: C = A * A^T with shared memory tiles, two input pointers (the tool wants A and B)
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define TS 16

__global__ void abt_tiled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TS][TS];
    __shared__ float Bs[TS][TS + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TS + ty;
    int col = blockIdx.x * TS + tx;
    int brow = blockIdx.x * TS + ty;     // the row of A that becomes a column of A^T
    float sum = 0;
    for (int t = 0; t < (K + TS - 1) / TS; t++) {
        int kk = t * TS + tx;
        As[ty][tx] = (row < M && kk < K) ? A[row * K + kk] : 0.0f;
        Bs[ty][tx] = (row < N && kk < K) ? B[brow * K + kk] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TS; k++)
            sum += As[ty][k] * Bs[tx][k];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

int main()
{
    int M = 400, K = 300;
    float *hA = new float[M * K], *hC = new float[M * M];
    for (int i = 0; i < M * K; i++) hA[i] = rand() % 10;
    float *dA, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dC, M * M * sizeof(float));
    cudaMemcpy(dA, hA, M * K * sizeof(float), cudaMemcpyHostToDevice);
    dim3 threads(TS, TS);
    dim3 blocks((M + TS - 1) / TS, (M + TS - 1) / TS);
    abt_tiled<<<blocks, threads>>>(dA, dA, dC, M, M, K);
    cudaMemcpy(hC, dC, M * M * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%f\n", hC[0]);
    cudaFree(dA); cudaFree(dC);
    delete[] hA; delete[] hC;
}

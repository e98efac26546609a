#include <cstdio>
#define TILE 16
__global__ void mm(const float *A, const float *B, float *C, int M, int K, int N)
{
    int r = blockIdx.y * TILE + threadIdx.y;
    int c = blockIdx.x * TILE + threadIdx.x;
    if (r < M && c < N) {
        float s = 0;
        for (int k = 0; k < K; k++) s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s;
    }
}
int main()
{
    int M = 100, K = 50, N = 70;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    mm<<<grid, block>>>(dA, dB, dC, M, K, N);
    cudaDeviceSynchronize();
}

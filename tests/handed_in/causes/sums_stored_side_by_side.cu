#include <cuda_runtime.h>

template <int TILE, int OWN>
__global__ void four_by_four(const float *A, const float *B, float *C, int M, int N, int K)
{
    int tx = threadIdx.x % (TILE / OWN), ty = threadIdx.x / (TILE / OWN);
    float sums[OWN][OWN] = {};
    for (int k = 0; k < K; k++)
        for (int r = 0; r < OWN; r++)
            for (int c = 0; c < OWN; c++) {
                int row = blockIdx.y * TILE + ty * OWN + r;
                int col = blockIdx.x * TILE + tx * OWN + c;
                sums[r][c] += (row < M ? A[row * K + k] : 0) * (col < N ? B[k * N + col] : 0);
            }
    for (int r = 0; r < OWN; r++)
        for (int c = 0; c < OWN; c++) {
            int row = blockIdx.y * TILE + ty * OWN + r;
            int col = blockIdx.x * TILE + tx + c * OWN;
            if (row < M && col < N)
                C[row * N + col] = sums[r][c];
        }
}

int main()
{
    int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    four_by_four<32, 4><<<dim3((N + 31) / 32, (M + 31) / 32), 64>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

#define BM 32
#define BN 64
#define BK 8
#define TM 2
#define TN 4

__device__ float or_zero(const float *x, int i, int j, int rows, int columns) {
    return i < rows && j < columns ? x[i * columns + j] : 0.0f;
}

__global__ void product(int m, int n, int k, const float *A, const float *B, float *C) {
    __shared__ float sA[BM * BK], sB[BK * BN];
    const int tid = threadIdx.x, row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tr = (tid / 16) * TM;
    const int tc = tid % 16;
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int i = tid; i < BM * BK; i += 256) sA[i] = or_zero(A, row0 + i / BK, k0 + i % BK, m, k);
        for (int i = tid; i < BK * BN; i += 256) sB[i] = or_zero(B, k0 + i / BN, col0 + i % BN, k, n);
        __syncthreads();
        for (int kk = 0; kk < BK; kk++)
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) acc[i][j] += sA[(tr + i) * BK + kk] * sB[kk * BN + tc + j];
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            if (row0 + tr + i < m && col0 + tc + j < n) C[(row0 + tr + i) * n + col0 + tc + j] = acc[i][j];
}

int main() {
    int m = 90, n = 150, k = 60;
    float *A, *B, *C;
    cudaMalloc(&A, m * k * sizeof(float));
    cudaMalloc(&B, k * n * sizeof(float));
    cudaMalloc(&C, m * n * sizeof(float));
    product<<<dim3((n + BN - 1) / BN, (m + BM - 1) / BM), 256>>>(m, n, k, A, B, C);
    cudaDeviceSynchronize();
}

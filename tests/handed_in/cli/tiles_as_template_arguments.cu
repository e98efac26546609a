#include <cuda_runtime.h>

template <int BM, int BN, int BK, int TM>
__global__ void gemm(int m, int n, int k, const float *a, const float *b, float *c) {
    __shared__ float sa[BK][BM], sb[BK][BN];
    int tid = threadIdx.x, row0 = blockIdx.y * BM, col0 = blockIdx.x * BN, x = tid % BN, y = tid / BN * TM;
    float sums[TM] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int e = tid; e < BM * BK; e += BM / TM * BN)
            sa[e % BK][e / BK] = row0 + e / BK < m && k0 + e % BK < k ? a[(row0 + e / BK) * k + k0 + e % BK] : 0;
        for (int e = tid; e < BK * BN; e += BM / TM * BN)
            sb[e / BN][e % BN] = k0 + e / BN < k && col0 + e % BN < n ? b[(k0 + e / BN) * n + col0 + e % BN] : 0;
        __syncthreads();
        for (int kk = 0; kk < BK; kk++)
            for (int i = 0; i < TM; i++) sums[i] += sa[kk][y + i] * sb[kk][x];
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        if (row0 + y + i < m && col0 + x < n) c[(row0 + y + i) * n + col0 + x] = sums[i];
}

int main() {
    const int m = 100, n = 90, k = 60;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * 4), cudaMalloc(&b, k * n * 4), cudaMalloc(&c, m * n * 4);
    constexpr int BM = 32, BN = 32, BK = 8, TM = 4;
    gemm<BM, BN, BK, TM><<<dim3((n + BN - 1) / BN, (m + BM - 1) / BM), BM / TM * BN>>>(m, n, k, a, b, c);
    cudaDeviceSynchronize();
}

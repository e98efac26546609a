// The rows of a thread are side by side in the tile of A, and BM / TM rows apart in C.
#include <cuda_runtime.h>
#include <cstdio>
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void sgemm2d(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C)
{
    const uint cRow = blockIdx.y, cCol = blockIdx.x;
    const uint threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    A += cRow * BM * K;
    B += cCol * BN;
    C += cRow * BM * N + cCol * BN;
    const uint count = (BM * BN) / (TM * TN);
    const uint innerRowA = threadIdx.x / BK, innerColA = threadIdx.x % BK, strideA = count / BK;
    const uint innerRowB = threadIdx.x / BN, innerColB = threadIdx.x % BN, strideB = count / BN;
    float results[TM * TN] = {0.0};
    float regM[TM] = {0.0}, regN[TN] = {0.0};
    for (uint bk = 0; bk < K; bk += BK) {
        for (uint o = 0; o < BM; o += strideA) As[(innerRowA + o) * BK + innerColA] = A[(innerRowA + o) * K + innerColA];
        for (uint o = 0; o < BK; o += strideB) Bs[(innerRowB + o) * BN + innerColB] = B[(innerRowB + o) * N + innerColB];
        __syncthreads();
        A += BK;
        B += BK * N;
        for (uint dot = 0; dot < BK; ++dot) {
            for (uint i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + dot];
            for (uint i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
            for (uint m = 0; m < TM; ++m)
                for (uint n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
        }
        __syncthreads();
    }
    for (uint m = 0; m < TM; ++m)
        for (uint n = 0; n < TN; ++n)
            C[(threadRow + m * (BM / TM)) * N + threadCol * TN + n] = alpha * results[m * TN + n] + beta * C[(threadRow + m * (BM / TM)) * N + threadCol * TN + n];
}

int main()
{
    int M = 256, N = 128, K = 64;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    sgemm2d<64, 64, 8, 8, 8><<<dim3(N / 64, M / 64), 64>>>(M, N, K, 1.0f, A, B, 0.0f, C);
    cudaDeviceSynchronize();
}

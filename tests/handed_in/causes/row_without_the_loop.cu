#include <cuda_runtime.h>
#include <cstdio>
constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;
constexpr int NT = (BM / TM) * (BN / TN);   // 256 threads

__global__ void __launch_bounds__(NT) gemm_vec(const float *__restrict__ A, const float *__restrict__ B,
                                               float *__restrict__ C, int m, int n, int k)
{
    __shared__ float sa[BK][BM];      // A transposed
    __shared__ float sb[BK][BN];
    const int tid = threadIdx.x;
    const int tx = tid % (BN / TN), ty = tid / (BN / TN);
    const int ar = tid / (BK / 4), ac = (tid % (BK / 4)) * 4;
    const int br = tid / (BN / 4), bc = (tid % (BN / 4)) * 4;
    const float *a = A + blockIdx.y * BM * k;
    const float *b = B + blockIdx.x * BN;
    float acc[TM][TN] = {};
    for (int k0 = 0; k0 < k; k0 += BK) {
        float4 va = *reinterpret_cast<const float4 *>(a + ar * k + k0 + ac);
        sa[ac + 0][ar] = va.x;
        sa[ac + 1][ar] = va.y;
        sa[ac + 2][ar] = va.z;
        sa[ac + 3][ar] = va.w;
        *reinterpret_cast<float4 *>(&sb[br][bc]) = *reinterpret_cast<const float4 *>(b + (k0 + br) * n + bc);
        __syncthreads();
        for (int kk = 0; kk < BK; ++kk) {
            float fa[TM], fb[TN];
            for (int i = 0; i < TM; ++i) fa[i] = sa[kk][ty * TM + i];
            for (int j = 0; j < TN; ++j) fb[j] = sb[kk][tx * TM + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i][j] += fa[i] * fb[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        float4 v = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        int row = blockIdx.y * BM + ty * TM;
        int col = blockIdx.x * BN + tx * TN;
        *reinterpret_cast<float4 *>(C + row * n + col) = v;
    }
}

int main()
{
    int m = 256, n = 256, k = 256;
    float *A, *B, *C;
    cudaMalloc(&A, sizeof(float) * m * k); cudaMalloc(&B, sizeof(float) * k * n); cudaMalloc(&C, sizeof(float) * m * n);
    gemm_vec<<<dim3(n / BN, m / BM), NT>>>(A, B, C, m, n, k);
    cudaDeviceSynchronize();
}

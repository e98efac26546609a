// 并行计算导论 第四次作业：GPU 矩阵乘法
// 每个线程计算 TM x TN 个元素
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

constexpr int BM = 64;   // 每个 block 计算的行数
constexpr int BN = 64;   // 每个 block 计算的列数
constexpr int BK = 8;    // K 方向的分块
constexpr int TM = 4;
constexpr int TN = 4;
constexpr int THREADS = (BM / TM) * (BN / TN);   // 256

__global__ void gemm_kernel(const float *__restrict__ A, const float *__restrict__ B,
                            float *__restrict__ C, int m, int n, int k)
{
    // A: m x k, B: k x n, C: m x n，行主序，任意大小
    __shared__ float sA[BM][BK];
    __shared__ float sB[BK][BN];

    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int row0 = blockIdx.y * BM;
    int col0 = blockIdx.x * BN;

    float acc[TM][TN];
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++)
            acc[i][j] = 0.f;

    for (int k0 = 0; k0 < k; k0 += BK) {
        // 协作加载，越界的位置补零
        for (int t = tid; t < BM * BK; t += THREADS) {
            int r = t / BK, c = t % BK;
            sA[r][c] = (row0 + r < m && k0 + c < k) ? A[(row0 + r) * k + k0 + c] : 0.f;
        }
        for (int t = tid; t < BK * BN; t += THREADS) {
            int r = t / BN, c = t % BN;
            sB[r][c] = (k0 + r < k && col0 + c < n) ? B[(k0 + r) * n + col0 + c] : 0.f;
        }
        __syncthreads();

        for (int p = 0; p < BK; p++) {
            float ra[TM], rb[TN];
            for (int i = 0; i < TM; i++) ra[i] = sA[threadIdx.y * TM + i][p];
            for (int j = 0; j < TN; j++) rb[j] = sB[p][threadIdx.x * TN + j];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    acc[i][j] += ra[i] * rb[j];
        }
        __syncthreads();
    }

    // 写回结果
    for (int i = 0; i < TM; i++) {
        int r = row0 + threadIdx.y * TM + i;
        for (int j = 0; j < TN; j++) {
            int c = col0 + threadIdx.x * TN + j;
            if (r < m && c < n) C[r * n + c] = acc[i][j];
        }
    }
}

int main(int argc, char **argv)
{
    int m = 500, n = 300, k = 200;
    if (argc == 4) { m = atoi(argv[1]); n = atoi(argv[2]); k = atoi(argv[3]); }
    std::vector<float> a(m * k), b(k * n), c(m * n);
    for (auto &x : a) x = (rand() % 100) / 100.f;
    for (auto &x : b) x = (rand() % 100) / 100.f;

    float *da, *db, *dc;
    cudaMalloc(&da, a.size() * sizeof(float));
    cudaMalloc(&db, b.size() * sizeof(float));
    cudaMalloc(&dc, c.size() * sizeof(float));
    cudaMemcpy(da, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);

    dim3 block(BN / TN, BM / TM);
    dim3 grid((n + BN - 1) / BN, (m + BM - 1) / BM);
    gemm_kernel<<<grid, block>>>(da, db, dc, m, n, k);
    cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost);

    // 验证
    int err = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int p = 0; p < k; p++) s += a[i * k + p] * b[p * n + j];
            if (std::fabs(s - c[i * n + j]) > 1e-2f) err++;
        }
    printf("m=%d n=%d k=%d 错误个数: %d\n", m, n, k, err);
    cudaFree(da); cudaFree(db); cudaFree(dc);
    return err != 0;
}

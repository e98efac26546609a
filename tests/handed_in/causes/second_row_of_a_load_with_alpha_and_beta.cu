#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

// step 5: a tile of 64 x 64, 4 x 4 elements for each of 256 threads, any size
#define BM 64
#define BN 64
#define BK 8
#define TM 4
#define TN 4
#define THREADS ((BM / TM) * (BN / TN))
__global__ void sgemm_regs(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int tc = threadIdx.x % (BN / TN), tr = threadIdx.x / (BN / TN);
    const int ra = threadIdx.x / BK, ca = threadIdx.x % BK;
    const int rb = threadIdx.x / BN, cb = threadIdx.x % BN;
    float acc[TM][TN] = {};
    float regM[TM], regN[TN];
    for (int bk = 0; bk < K; bk += BK) {
        for (int o = 0; o < BM; o += THREADS / BK)
            As[ra + o][ca] = (row0 + ra + o < M && bk + ca < K) ? A[(row0 + ra) * K + bk + ca] : 0.0f;
        for (int o = 0; o < BK; o += THREADS / BN)
            Bs[rb + o][cb] = (bk + rb + o < K && col0 + cb < N) ? B[(bk + rb + o) * N + col0 + cb] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            for (int i = 0; i < TM; ++i) regM[i] = As[tr * TM + i][k];
            for (int j = 0; j < TN; ++j) regN[j] = Bs[k][tc * TN + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i][j] += regM[i] * regN[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j) {
            int r = row0 + tr * TM + i, c = col0 + tc * TN + j;
            if (r < M && c < N) C[r * N + c] = alpha * acc[i][j] + beta * C[r * N + c];
        }
}

void cpuSgemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0.0f;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = alpha * s + beta * C[i * N + j];
        }
}

int main() {
    const int M = 256, N = 192, K = 128;
    const float alpha = 0.5f, beta = 3.0f;
    size_t sizeA = (size_t)M * K * sizeof(float), sizeB = (size_t)K * N * sizeof(float), sizeC = (size_t)M * N * sizeof(float);
    float *h_A = (float *)malloc(sizeA), *h_B = (float *)malloc(sizeB), *h_C = (float *)malloc(sizeC), *h_ref = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < M * N; i++) h_ref[i] = h_C[i] = rand() / (float)RAND_MAX;

    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, sizeA);
    cudaMalloc(&d_B, sizeB);
    cudaMalloc(&d_C, sizeC);
    cudaMemcpy(d_A, h_A, sizeA, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, sizeB, cudaMemcpyHostToDevice);
    cudaMemcpy(d_C, h_C, sizeC, cudaMemcpyHostToDevice);

    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    sgemm_regs<<<grid, THREADS>>>(M, N, K, alpha, d_A, d_B, beta, d_C);
    cudaDeviceSynchronize();
    cudaMemcpy(h_C, d_C, sizeC, cudaMemcpyDeviceToHost);

    cpuSgemm(M, N, K, alpha, h_A, h_B, beta, h_ref);
    float worst = 0.0f;
    for (int i = 0; i < M * N; i++) worst = fmaxf(worst, fabsf(h_C[i] - h_ref[i]));
    printf("largest difference %g: %s\n", worst, worst < 1e-3f ? "OK" : "WRONG");
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C); free(h_ref);
    return 0;
}

// Wrong: a barrier is missing, and the rows of a thread are stored in another order than they are read.
// Practical 5, step 3, first try: a column of 8 results per thread
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define BM 64
#define BN 64
#define BK 8
#define TM 8

__global__ void tile1d(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];
    int tid = threadIdx.x;
    int threadCol = tid % BN, threadRow = tid / BN;
    int aCol = tid % BK, aRow = tid / BK;
    int bCol = tid % BN, bRow = tid / BN;
    int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float acc[TM] = {0.0f};

    for (int k0 = 0; k0 < K; k0 += BK) {
        As[aRow * BK + aCol] = (row0 + aRow < M && k0 + aCol < K) ? A[(row0 + aRow) * K + k0 + aCol] : 0.0f;
        Bs[bRow * BN + bCol] = (k0 + bRow < K && col0 + bCol < N) ? B[(k0 + bRow) * N + col0 + bCol] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float b = Bs[k * BN + threadCol];
            for (int i = 0; i < TM; i++)
                acc[i] += As[(threadRow * TM + i) * BK + k] * b;
        }
    }
    __syncthreads();
    for (int i = 0; i < TM; i++) {
        int row = row0 + threadRow + i * TM;
        if (row < M && col0 + threadCol < N)
            C[row * N + col0 + threadCol] = acc[i];
    }
}

void cpu_mm(const float *A, const float *B, float *C, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main(int argc, char **argv)
{
    // k3 n   or   k3 M N K
    int M = 1000, N = 1000, K = 1000;
    if (argc == 2) M = N = K = atoi(argv[1]);
    if (argc == 4) { M = atoi(argv[1]); N = atoi(argv[2]); K = atoi(argv[3]); }

    float *hA = (float *)malloc(sizeof(float) * M * K);
    float *hB = (float *)malloc(sizeof(float) * K * N);
    float *hC = (float *)malloc(sizeof(float) * M * N);
    float *ref = (float *)malloc(sizeof(float) * M * N);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, sizeof(float) * M * K);
    cudaMalloc(&dB, sizeof(float) * K * N);
    cudaMalloc(&dC, sizeof(float) * M * N);
    cudaMemcpy(dA, hA, sizeof(float) * M * K, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sizeof(float) * K * N, cudaMemcpyHostToDevice);

    dim3 block(BM * BN / TM);
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    tile1d<<<grid, block>>>(M, N, K, dA, dB, dC);
    cudaDeviceSynchronize();
    cudaMemcpy(hC, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost);

    cpu_mm(hA, hB, ref, M, N, K);
    double worst = 0;
    for (int i = 0; i < M * N; i++) worst = fmax(worst, fabs(hC[i] - ref[i]));
    printf("%d x %d x %d: largest difference %g\n", M, N, K, worst);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    return 0;
}

// Course project, milestone 1, task 4: 8 results per thread; M, N multiples of 64, K of 8
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define BM 64
#define BN 64
#define BK 8
#define TM 8
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

#define CUDA_CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void sgemm_1d_tile(int M, int N, int K, float alpha, const float *A,
                              const float *B, float beta, float *C) {
    __shared__ float As[BM * BK];
    __shared__ float Bs[BK * BN];

    const int cRow = blockIdx.y;
    const int cCol = blockIdx.x;
    const int threadCol = threadIdx.x % BN;
    const int threadRow = threadIdx.x / BN;

    A += cRow * BM * K;
    B += cCol * BN;
    C += cRow * BM * N + cCol * BN;

    // every thread loads one element of each tile
    const int innerColA = threadIdx.x % BK;
    const int innerRowA = threadIdx.x / BK;
    const int innerColB = threadIdx.x % BN;
    const int innerRowB = threadIdx.x / BN;

    float results[TM] = {0.0f};
    for (int bk = 0; bk < K; bk += BK) {
        As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
        Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
        __syncthreads();

        A += BK;
        B += BK * K;

        for (int dot = 0; dot < BK; ++dot) {
            float b = Bs[dot * BN + threadCol];
            for (int r = 0; r < TM; ++r)
                results[r] += As[(threadRow * TM + r) * BK + dot] * b;
        }
        __syncthreads();
    }

    for (int r = 0; r < TM; ++r)
        C[(threadRow * TM + r) * N + threadCol] =
            alpha * results[r];
}

void cpu_sgemm(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = alpha * s + beta * C[i * N + j];
        }
}

int main() {
    int M = 512, N = 256, K = 256;
    float alpha = 2.0f, beta = 0.5f;
    float *hA = (float *)malloc(M * K * sizeof(float));
    float *hB = (float *)malloc(K * N * sizeof(float));
    float *hC = (float *)malloc(M * N * sizeof(float));
    float *ref = (float *)malloc(M * N * sizeof(float));
    srand(1);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < M * N; i++) hC[i] = ref[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    CUDA_CHECK(cudaMalloc(&dA, M * K * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dB, K * N * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&dC, M * N * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(dA, hA, M * K * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dB, hB, K * N * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(dC, hC, M * N * sizeof(float), cudaMemcpyHostToDevice));

    dim3 gridDim(N / BN, M / BM, 1);
    dim3 blockDim((BM * BN) / TM);
    sgemm_1d_tile<<<gridDim, blockDim>>>(M, N, K, alpha, dA, dB, beta, dC);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));

    cpu_sgemm(M, N, K, alpha, hA, hB, beta, ref);
    float maxerr = 0;
    for (int i = 0; i < M * N; i++) maxerr = fmaxf(maxerr, fabsf(ref[i] - hC[i]));
    printf("max error %g: %s\n", maxerr, maxerr < 1e-2 ? "OK" : "WRONG");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC); free(ref);
    return 0;
}

// Week 3, task 4: each thread computes 1 x 4 elements
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CHECK(call)                                                          \
    do {                                                                     \
        cudaError_t err = (call);                                            \
        if (err != cudaSuccess) {                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,               \
                    cudaGetErrorString(err));                                \
            exit(EXIT_FAILURE);                                              \
        }                                                                    \
    } while (0)

#define BM 16
#define BN 64
#define BK 8

// block of 16 x 16 threads computes 16 x 64 elements, each thread 4 neighbours in a row
__global__ void matmul1x4(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BM + ty;
    int col = blockIdx.x * BN + tx * 4;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int k0 = 0; k0 < K; k0 += BK) {
        As[ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0.0f;
        for (int j = 0; j < 4; j++)
            Bs[ty][tx * 4 + j] = (k0 + ty < K && col + j < N) ? B[(k0 + ty) * N + col + j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float a = As[ty][k];
            for (int j = 0; j < 4; j++)
                sum[j] += a * Bs[k][tx * 4 + j];
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        if (row < M && col + j < N)
            C[row * N + col + j] = sum[j];
}

void matmulCPU(const float *A, const float *B, float *C, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0.0f;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main()
{
    const int M = 500, N = 700, K = 300;
    size_t bytesA = M * K * sizeof(float), bytesB = K * N * sizeof(float), bytesC = M * N * sizeof(float);
    float *hA = (float *)malloc(bytesA), *hB = (float *)malloc(bytesB);
    float *hC = (float *)malloc(bytesC), *ref = (float *)malloc(bytesC);
    srand(42);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, bytesA));
    CHECK(cudaMalloc(&dB, bytesB));
    CHECK(cudaMalloc(&dC, bytesC));
    CHECK(cudaMemcpy(dA, hA, bytesA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB, bytesB, cudaMemcpyHostToDevice));

    dim3 block(16, 16);
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    matmul1x4<<<grid, block>>>(dA, dB, dC, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(hC, dC, bytesC, cudaMemcpyDeviceToHost));

    matmulCPU(hA, hB, ref, M, N, K);
    double maxErr = 0;
    for (int i = 0; i < M * N; i++) maxErr = fmax(maxErr, fabs(hC[i] - ref[i]));
    printf("max error %g: %s\n", maxErr, maxErr < 1e-3 ? "OK" : "WRONG");

    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC); free(ref);
    return 0;
}

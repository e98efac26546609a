// Lab 2, part 1: naive GEMM, one thread per element of C
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define BX 32
#define BY 32

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t err = (call);                                              \
        if (err != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                 \
                    cudaGetErrorString(err));                                  \
            exit(EXIT_FAILURE);                                                \
        }                                                                      \
    } while (0)

__global__ void gemm_naive(const float *A, const float *B, float *C, int M, int N, int K)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

void gemm_cpu(const float *A, const float *B, float *C, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0.0f;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main(int argc, char **argv)
{
    int M = argc > 1 ? atoi(argv[1]) : 512;
    int N = argc > 2 ? atoi(argv[2]) : 384;
    int K = argc > 3 ? atoi(argv[3]) : 256;

    size_t bytesA = (size_t)M * K * sizeof(float);
    size_t bytesB = (size_t)K * N * sizeof(float);
    size_t bytesC = (size_t)M * N * sizeof(float);
    float *h_A = (float *)malloc(bytesA), *h_B = (float *)malloc(bytesB);
    float *h_C = (float *)malloc(bytesC), *h_ref = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX - 0.5f;

    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, bytesA));
    CHECK(cudaMalloc(&d_B, bytesB));
    CHECK(cudaMalloc(&d_C, bytesC));
    CHECK(cudaMemcpy(d_A, h_A, bytesA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, bytesB, cudaMemcpyHostToDevice));

    dim3 block(BX, BY);
    dim3 grid((N + BX - 1) / BX, (M + BY - 1) / BY);
    gemm_naive<<<grid, block>>>(d_A, d_B, d_C, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, bytesC, cudaMemcpyDeviceToHost));

    gemm_cpu(h_A, h_B, h_ref, M, N, K);
    float maxdiff = 0.0f;
    for (int i = 0; i < M * N; i++) maxdiff = fmaxf(maxdiff, fabsf(h_C[i] - h_ref[i]));
    printf("M=%d N=%d K=%d  max diff %g  %s\n", M, N, K, maxdiff, maxdiff < 1e-3f ? "OK" : "WRONG");

    CHECK(cudaFree(d_A)); CHECK(cudaFree(d_B)); CHECK(cudaFree(d_C));
    free(h_A); free(h_B); free(h_C); free(h_ref);
    return 0;
}

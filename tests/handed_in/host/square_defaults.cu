// Exercise 1: C = A * B, any sizes. naive + tiled
// A: M x K, B: K x N, C: M x N, row-major
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define T 16

#define CHECK(x) do { cudaError_t err_ = (x); if (err_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err_)); exit(1); } } while (0)

// one thread = one element
__global__ void mm_naive(const float *A, const float *B, float *C, int M, int K, int N)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;   // column
    int i = blockIdx.y * blockDim.y + threadIdx.y;   // row
    if (i < M && j < N) {
        float s = 0.0f;
        for (int k = 0; k < K; k++)
            s += A[i * K + k] * B[k * N + j];
        C[i * N + j] = s;
    }
}

// tiles in shared memory
__global__ void mm_tiled(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float sA[T][T];
    __shared__ float sB[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty;
    int col = blockIdx.x * T + tx;
    float s = 0.0f;

    for (int t = 0; t < (K + T - 1) / T; t++) {
        if (row < M && t * T + tx < K) sA[ty][tx] = A[row * K + t * T + tx];
        else                           sA[ty][tx] = 0.0f;
        if (col < N && t * T + ty < K) sB[ty][tx] = B[(t * T + ty) * N + col];
        else                           sB[ty][tx] = 0.0f;
        __syncthreads();
        for (int k = 0; k < T; k++)
            s += sA[ty][k] * sB[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = s;
}

void cpu_mm(const float *A, const float *B, float *C, int M, int K, int N)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)A[i * K + k] * B[k * N + j];
            C[i * N + j] = (float)s;
        }
}

int compare(const float *x, const float *y, int n, const char *what)
{
    int bad = 0;
    for (int i = 0; i < n; i++)
        if (fabsf(x[i] - y[i]) > 1e-3f * fmaxf(1.0f, fabsf(y[i]))) bad++;
    printf("%-8s %s (%d wrong)\n", what, bad ? "FAILED" : "ok", bad);
    return bad;
}

int main(int argc, char **argv)
{
    int M = argc > 1 ? atoi(argv[1]) : 512;
    int K = argc > 2 ? atoi(argv[2]) : 512;
    int N = argc > 3 ? atoi(argv[3]) : 512;

    float *hA = (float *)malloc(sizeof(float) * M * K);
    float *hB = (float *)malloc(sizeof(float) * K * N);
    float *hC = (float *)malloc(sizeof(float) * M * N);
    float *ref = (float *)malloc(sizeof(float) * M * N);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, sizeof(float) * M * K));
    CHECK(cudaMalloc(&dB, sizeof(float) * M * K));
    CHECK(cudaMalloc(&dC, sizeof(float) * M * N));
    CHECK(cudaMemcpy(dA, hA, sizeof(float) * M * K, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB, sizeof(float) * K * N, cudaMemcpyHostToDevice));

    cpu_mm(hA, hB, ref, M, K, N);

    dim3 block(T, T);
    dim3 gridN((N + T - 1) / T, (M + T - 1) / T);
    mm_naive<<<gridN, block>>>(dA, dB, dC, M, K, N);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(hC, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));
    compare(hC, ref, M * N, "naive");

    dim3 gridT((N + T - 1) / T, (M + T - 1) / T);
    mm_tiled<<<gridT, block>>>(dA, dB, dC, M, K, N);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(hC, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));
    compare(hC, ref, M * N, "tiled");

    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC); free(ref);
    return 0;
}

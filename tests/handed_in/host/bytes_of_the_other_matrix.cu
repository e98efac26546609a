// Exercise 5: gemm() as a function that does everything, called with three sizes
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define BLOCK 16
#define CUDA_OK(x) do { cudaError_t rc = (x); if (rc != cudaSuccess) { \
    printf("CUDA error %s in line %d\n", cudaGetErrorString(rc), __LINE__); exit(1); } } while (0)

__global__ void gemm_kernel(int M, int N, int K, const float *A, const float *B, float *C)
{
    __shared__ float tA[BLOCK][BLOCK], tB[BLOCK][BLOCK];
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.y * BLOCK + y;
    int j = blockIdx.x * BLOCK + x;
    float s = 0;
    for (int p = 0; p < K; p += BLOCK) {
        tA[y][x] = i < M && p + x < K ? A[i * K + p + x] : 0;
        tB[y][x] = p + y < K && j < N ? B[(p + y) * N + j] : 0;
        __syncthreads();
        for (int q = 0; q < BLOCK; q++) s += tA[y][q] * tB[q][x];
        __syncthreads();
    }
    if (i < M && j < N) C[i * N + j] = s;
}

void gemm(int M, int N, int K, const float *A, const float *B, float *C)
{
    float *dA, *dB, *dC;
    CUDA_OK(cudaMalloc(&dA, sizeof(float) * M * K));
    CUDA_OK(cudaMalloc(&dB, sizeof(float) * K * N));
    CUDA_OK(cudaMalloc(&dC, sizeof(float) * M * N));
    CUDA_OK(cudaMemcpy(dA, A, sizeof(float) * M * K, cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dB, B, sizeof(float) * M * K, cudaMemcpyHostToDevice));

    dim3 threads(BLOCK, BLOCK);
    dim3 blocks((M + BLOCK - 1) / BLOCK, (N + BLOCK - 1) / BLOCK);
    gemm_kernel<<<blocks, threads>>>(M, N, K, dA, dB, dC);
    CUDA_OK(cudaGetLastError());
    CUDA_OK(cudaMemcpy(C, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));
    CUDA_OK(cudaFree(dA));
    CUDA_OK(cudaFree(dB));
    CUDA_OK(cudaFree(dC));
}

int main()
{
    const int sizes[3][3] = {{64, 64, 64}, {100, 200, 150}, {256, 128, 512}};
    for (int t = 0; t < 3; t++) {
        int M = sizes[t][0], N = sizes[t][1], K = sizes[t][2];
        std::vector<float> A(M * K), B(K * N), C(M * N);
        for (auto &v : A) v = rand() % 10;
        for (auto &v : B) v = rand() % 10;
        gemm(M, N, K, A.data(), B.data(), C.data());
        float ref = 0, last = C[M * N - 1];
        for (int k = 0; k < K; k++) ref += A[(M - 1) * K + k] * B[k * N + N - 1];
        printf("%d x %d x %d: %s\n", M, N, K, fabs(ref - last) < 1e-3 ? "ok" : "WRONG");
    }
}

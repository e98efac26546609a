// Exercise 2: three ways to divide the work
//   k_elem: one thread -> one element
//   k_row : one thread -> one row of C
//   k_col : one thread -> one column of C
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(x) if ((x) != cudaSuccess) { printf("CUDA error line %d\n", __LINE__); return 1; }

__global__ void k_elem(float *C, const float *A, const float *B, int M, int N, int K) {
    int j = blockIdx.x * 16 + threadIdx.x;
    int i = blockIdx.y * 16 + threadIdx.y;
    if (i >= M || j >= N) return;
    float s = 0;
    for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
    C[i * N + j] = s;
}

// thread i computes row i
__global__ void k_row(float *C, const float *A, const float *B, int M, int N, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M) return;
    for (int j = 0; j < N; j++) {
        float s = 0;
        for (int k = 0; k < K; k++)
            s += A[i * K + k] * B[k * N + j];
        C[i * N + j] = s;
    }
}

// thread j computes column j
__global__ void k_col(float *C, const float *A, const float *B, int M, int N, int K) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= N) return;
    for (int i = 0; i < M; i++) {
        float s = 0;
        for (int k = 0; k < K; k++)
            s += A[i * K + k] * B[k * N + j];
        C[i * N + j] = s;
    }
}

int main() {
    int M = 500, N = 400, K = 300;
    std::vector<float> a(M * K), b(K * N), c(M * N);
    for (auto &x : a) x = rand() % 10;
    for (auto &x : b) x = rand() % 10;

    float *dA, *dB, *dC;
    CUDA_OK(cudaMalloc(&dA, M * K * sizeof(float)));
    CUDA_OK(cudaMalloc(&dB, K * N * sizeof(float)));
    CUDA_OK(cudaMalloc(&dC, M * N * sizeof(float)));
    CUDA_OK(cudaMemcpy(dA, a.data(), M * K * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_OK(cudaMemcpy(dB, b.data(), K * N * sizeof(float), cudaMemcpyHostToDevice));

    int threads = 128;
    int blocksRow = (M + threads - 1) / threads;
    int blocksCol = (N + threads - 1) / threads;

    k_elem<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(dC, dA, dB, M, N, K);
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaMemcpy(c.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("elem: c[0]=%g c[last]=%g\n", c[0], c[M * N - 1]);

    k_row<<<blocksRow, threads>>>(dC, dA, dB, M, N, K);
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaMemcpy(c.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("row : c[0]=%g c[last]=%g\n", c[0], c[M * N - 1]);

    k_col<<<blocksCol, threads>>>(dC, dA, dB, M, N, K);
    CUDA_OK(cudaDeviceSynchronize());
    CUDA_OK(cudaMemcpy(c.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("col : c[0]=%g c[last]=%g\n", c[0], c[M * N - 1]);

    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}

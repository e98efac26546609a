// exercise 5 with the rectangular kernel, two elements per thread, prefetch
#include <cstdio>
#include <cstdlib>
#include <chrono>

#define T 16

static void check(cudaError_t err, const char *what)
{
    if (err != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(err));
        std::exit(EXIT_FAILURE);
    }
}

__global__ void gemm_prefetch(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
                              int M, int N, int K)
{
    __shared__ float As[T][T];
    __shared__ float Bs[T][3 * T];      // 2 * T columns, and T of padding

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * T + ty;
    const int c0 = blockIdx.x * 2 * T + tx;
    const int c1 = c0 + T;

    float ra = 0, rb0 = 0, rb1 = 0;
    if (row < M && tx < K) ra = A[row * K + tx];
    if (ty < K && c0 < N) rb0 = B[ty * N + c0];
    if (ty < K && c1 < N) rb1 = B[ty * N + c1];

    float s0 = 0, s1 = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[ty][tx] = ra;
        Bs[ty][tx] = rb0;
        Bs[ty][tx + T] = rb1;
        __syncthreads();

        const int ka = k0 + T + tx, kb = k0 + T + ty;
        if (row < M && ka < K) ra = A[row * K + ka];
        if (kb < K && c0 < N) rb0 = B[kb * N + c0];
        if (kb < K && c1 < N) rb1 = B[kb * N + c1];

        for (int k = 0; k < T; k++) {
            s0 += As[ty][k] * Bs[k][tx];
            s1 += As[ty][k] * Bs[k][tx + T];
        }
        __syncthreads();
    }

    if (row < M && c0 < N) C[row * N + c0] = s0;
    if (row < M && c1 < N) C[row * N + c1] = s1;
}

int main(int argc, char **argv)
{
    int M = 250, N = 350, K = 150;
    float *hA = new float[M * K], *hB = new float[K * N], *hC = new float[M * N];
    for (int i = 0; i < M * K; i++) hA[i] = (float)std::rand() / RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) hB[i] = (float)std::rand() / RAND_MAX - 0.5f;

    float *dA, *dB, *dC;
    check(cudaMalloc(&dA, sizeof(float) * M * K), "malloc A");
    check(cudaMalloc(&dB, sizeof(float) * K * N), "malloc B");
    check(cudaMalloc(&dC, sizeof(float) * M * N), "malloc C");
    check(cudaMemcpy(dA, hA, sizeof(float) * M * K, cudaMemcpyHostToDevice), "copy A");
    check(cudaMemcpy(dB, hB, sizeof(float) * K * N, cudaMemcpyHostToDevice), "copy B");

    dim3 block(T, T);
    dim3 grid((N + 2 * T - 1) / (2 * T), (M + T - 1) / T);
    auto t0 = std::chrono::steady_clock::now();
    for (int rep = 0; rep < 10; rep++)
        gemm_prefetch<<<grid, block>>>(dA, dB, dC, M, N, K);
    check(cudaDeviceSynchronize(), "kernel");
    auto t1 = std::chrono::steady_clock::now();
    double s = std::chrono::duration<double>(t1 - t0).count() / 10;
    std::printf("%.3f ms, %.1f GFLOP/s\n", s * 1e3, 2.0 * M * N * K / s * 1e-9);

    check(cudaMemcpy(hC, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost), "copy C");
    std::printf("C[1][2] = %f\n", hC[N + 2]);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    delete[] hA; delete[] hB; delete[] hC;
}

// 15-418 warmup: one thread block per output element, tree reduction in shared memory.
// (Yes, this is slow. The question in the writeup asks you to explain why.)
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define THREADS 128     // must be a power of two

#define CUDA_SAFE(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void dot_per_block(const float* A, const float* B, float* C,
                              int M, int N, int K)
{
    __shared__ float partial[THREADS];
    const int row = blockIdx.y;
    const int col = blockIdx.x;
    const int t = threadIdx.x;

    // each thread sums every THREADS-th product
    float s = 0.f;
    for (int k = t; k < K; k += THREADS)
        s += A[row * K + k] * B[k * N + col];
    partial[t] = s;
    __syncthreads();

    for (int stride = THREADS / 2; stride > 0; stride >>= 1) {
        if (t < stride)
            partial[t] += partial[t + stride];
        __syncthreads();
    }

    if (t == 0)
        C[row * N + col] = partial[0];
}

static float frand() { return 2.f * rand() / (float)RAND_MAX - 1.f; }

int main(int argc, char** argv)
{
    int M = 60, N = 90, K = 1000;
    if (argc > 1) M = atoi(argv[1]);
    if (argc > 2) N = atoi(argv[2]);
    if (argc > 3) K = atoi(argv[3]);

    float* A = new float[M * K];
    float* B = new float[K * N];
    float* C = new float[M * N];
    for (int i = 0; i < M * K; i++) A[i] = frand();
    for (int i = 0; i < K * N; i++) B[i] = frand();

    float *dA, *dB, *dC;
    CUDA_SAFE(cudaMalloc(&dA, sizeof(float) * M * K));
    CUDA_SAFE(cudaMalloc(&dB, sizeof(float) * K * N));
    CUDA_SAFE(cudaMalloc(&dC, sizeof(float) * M * N));
    CUDA_SAFE(cudaMemcpy(dA, A, sizeof(float) * M * K, cudaMemcpyHostToDevice));
    CUDA_SAFE(cudaMemcpy(dB, B, sizeof(float) * K * N, cudaMemcpyHostToDevice));

    dim3 grid(N, M);
    dot_per_block<<<grid, THREADS>>>(dA, dB, dC, M, N, K);
    CUDA_SAFE(cudaGetLastError());
    CUDA_SAFE(cudaMemcpy(C, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));

    float maxdiff = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double r = 0;
            for (int k = 0; k < K; k++) r += (double)A[i * K + k] * B[k * N + j];
            maxdiff = fmaxf(maxdiff, fabsf((float)r - C[i * N + j]));
        }
    printf("max diff %g -> %s\n", maxdiff, maxdiff < 1e-3f ? "ok" : "NOT OK");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    delete[] A; delete[] B; delete[] C;
    return 0;
}

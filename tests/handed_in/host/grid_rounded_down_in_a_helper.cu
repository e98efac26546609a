// Wrong: the kernel guards its edges, and the helper's grid is rounded down; the sizes are the user's.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

const int T = 16;

// C (M x N) = A (M x K) * B (K x N)
__global__ void mm_any(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float sA[T][T];
    __shared__ float sB[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * T + ty;
    int j = blockIdx.x * T + tx;
    float s = 0.0f;
    for (int t = 0; t < (K + T - 1) / T; t++) {
        int ka = t * T + tx;
        int kb = t * T + ty;
        sA[ty][tx] = (i < M && ka < K) ? A[i * K + ka] : 0.0f;
        sB[ty][tx] = (kb < K && j < N) ? B[kb * N + j] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; k++)
            s += sA[ty][k] * sB[k][tx];
        __syncthreads();
    }
    if (i < M && j < N)
        C[i * N + j] = s;
}

void launch(const float *dA, const float *dB, float *dC, int M, int N, int K) {
    dim3 block(T, T);
    dim3 grid(N / T, M / T);
    mm_any<<<grid, block>>>(dA, dB, dC, M, N, K);
}

int main(int argc, char **argv) {
    int M = argc > 1 ? atoi(argv[1]) : 640;
    int N = argc > 2 ? atoi(argv[2]) : M;
    int K = argc > 3 ? atoi(argv[3]) : M;
    size_t bytesA = (size_t)M * K * sizeof(float);
    size_t bytesB = (size_t)K * N * sizeof(float);
    size_t bytesC = (size_t)M * N * sizeof(float);
    float *A = (float *)malloc(bytesA), *B = (float *)malloc(bytesB), *C = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) B[i] = rand() / (float)RAND_MAX;
    float *dA, *dB, *dC;
    cudaMalloc((void **)&dA, bytesA);
    cudaMalloc((void **)&dB, bytesB);
    cudaMalloc((void **)&dC, bytesC);
    cudaMemcpy(dA, A, bytesA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, bytesB, cudaMemcpyHostToDevice);

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    launch(dA, dB, dC, M, N, K);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float ms;
    cudaEventElapsedTime(&ms, start, stop);
    cudaMemcpy(C, dC, bytesC, cudaMemcpyDeviceToHost);
    printf("%d x %d x %d: %f ms, %f GFLOP/s\n", M, N, K, ms, 2.0 * M * N * K / ms / 1e6);

    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            if (fabs(s - C[i * N + j]) > 1e-3 * K) {
                printf("wrong at %d %d: %f %f\n", i, j, s, C[i * N + j]);
                return 1;
            }
        }
    printf("ok\n");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C);
    return 0;
}

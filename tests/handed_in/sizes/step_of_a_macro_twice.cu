// exercise 6: inner loop unrolled by hand, with a macro
#include <stdio.h>
#include <stdlib.h>
#include <cuda_runtime.h>

#define T 16

#define STEP(k) { float a = As[ty][k]; s0 += a * Bs[k][tx]; s1 += a * Bs[k][tx + T]; }

#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))
static void HandleError(cudaError_t err, const char *file, int line) {
    if (err != cudaSuccess) {
        printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
        exit(EXIT_FAILURE);
    }
}

__global__ void mm_unrolled(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[T][T];
    __shared__ float Bs[T][3 * T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty;
    int c0 = blockIdx.x * 2 * T + tx;
    int c1 = c0 + T;

    float ra  = (row < M && tx < K) ? A[row * K + tx] : 0.0f;
    float rb0 = (ty < K && c0 < N) ? B[ty * N + c0] : 0.0f;
    float rb1 = (ty < K && c1 < N) ? B[ty * N + c1] : 0.0f;
    float s0 = 0.0f, s1 = 0.0f;

    for (int k0 = 0; k0 < K; k0 += T) {
        As[ty][tx] = ra;
        Bs[ty][tx] = rb0;
        Bs[ty][tx + T] = rb1;
        __syncthreads();

        int ka = k0 + T + tx, kb = k0 + T + ty;
        ra  = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        rb0 = (kb < K && c0 < N) ? B[kb * N + c0] : 0.0f;
        rb1 = (kb < K && c1 < N) ? B[kb * N + c1] : 0.0f;

        STEP(0)
        STEP(1)
        STEP(2)
        STEP(3)
        STEP(4)
        STEP(5)
        STEP(6)
        STEP(7)
        STEP(8)
        STEP(9)
        STEP(10)
        STEP(10)
        STEP(12)
        STEP(13)
        STEP(14)
        STEP(15)
        __syncthreads();
    }
    if (row < M && c0 < N) C[row * N + c0] = s0;
    if (row < M && c1 < N) C[row * N + c1] = s1;
}

int main(void)
{
    int M = 256, N = 320, K = 192;
    float *a = (float*)malloc(M * K * sizeof(float));
    float *b = (float*)malloc(K * N * sizeof(float));
    float *c = (float*)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) a[i] = i % 3;
    for (int i = 0; i < K * N; i++) b[i] = i % 4;
    float *dev_a, *dev_b, *dev_c;
    HANDLE_ERROR(cudaMalloc((void**)&dev_a, M * K * sizeof(float)));
    HANDLE_ERROR(cudaMalloc((void**)&dev_b, K * N * sizeof(float)));
    HANDLE_ERROR(cudaMalloc((void**)&dev_c, M * N * sizeof(float)));
    HANDLE_ERROR(cudaMemcpy(dev_a, a, M * K * sizeof(float), cudaMemcpyHostToDevice));
    HANDLE_ERROR(cudaMemcpy(dev_b, b, K * N * sizeof(float), cudaMemcpyHostToDevice));
    dim3 threads(T, T);
    dim3 grid((N + 2 * T - 1) / (2 * T), (M + T - 1) / T);
    mm_unrolled<<<grid, threads>>>(dev_a, dev_b, dev_c, M, N, K);
    HANDLE_ERROR(cudaGetLastError());
    HANDLE_ERROR(cudaMemcpy(c, dev_c, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    printf("c[0] = %f\n", c[0]);
    cudaFree(dev_a); cudaFree(dev_b); cudaFree(dev_c);
    free(a); free(b); free(c);
    return 0;
}

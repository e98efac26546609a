// Wrong: the copy of B has n * n bytes, in the function that calls the launching one.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

const int T = 16;

__global__ void mm_bytes(const float *A, const float *B, float *C, int n) {
    __shared__ float sA[T][T];
    __shared__ float sB[T][T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * T + ty;
    int j = blockIdx.x * T + tx;
    float s = 0.0f;
    for (int t = 0; t < n / T; t++) {
        sA[ty][tx] = A[i * n + t * T + tx];
        sB[ty][tx] = B[(t * T + ty) * n + j];
        __syncthreads();
        for (int k = 0; k < T; k++)
            s += sA[ty][k] * sB[k][tx];
        __syncthreads();
    }
    C[i * n + j] = s;
}

void launch(const float *dA, const float *dB, float *dC, int n) {
    dim3 block(T, T);
    dim3 grid(n / T, n / T);
    mm_bytes<<<grid, block>>>(dA, dB, dC, n);
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 640;
    if (n % T != 0) {
        printf("n must be a multiple of %d\n", T);
        exit(1);
    }
    size_t bytes = (size_t)n * n * sizeof(float);
    float *A = (float *)malloc(bytes), *B = (float *)malloc(bytes), *C = (float *)malloc(bytes);
    for (int i = 0; i < n * n; i++) {
        A[i] = rand() / (float)RAND_MAX;
        B[i] = rand() / (float)RAND_MAX;
    }
    float *dA, *dB, *dC;
    cudaMalloc((void **)&dA, bytes);
    cudaMalloc((void **)&dB, bytes);
    cudaMalloc((void **)&dC, bytes);
    cudaMemcpy(dA, A, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, n * n, cudaMemcpyHostToDevice);

    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    launch(dA, dB, dC, n);   // warm up
    cudaEventRecord(start);
    for (int r = 0; r < 10; r++)
        launch(dA, dB, dC, n);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float ms;
    cudaEventElapsedTime(&ms, start, stop);
    ms /= 10;
    cudaMemcpy(C, dC, bytes, cudaMemcpyDeviceToHost);
    printf("n = %d: %f ms, %f GFLOP/s\n", n, ms, 2.0 * n * n * n / ms / 1e6);

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < n; k++) s += A[i * n + k] * B[k * n + j];
            if (fabs(s - C[i * n + j]) > 1e-3 * n) {
                printf("wrong at %d %d: %f %f\n", i, j, s, C[i * n + j]);
                return 1;
            }
        }
    printf("ok\n");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C);
    return 0;
}

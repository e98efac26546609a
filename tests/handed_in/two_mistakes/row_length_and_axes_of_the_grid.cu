// Wrong: the row length of B, and the axes of the grid.
// naive matrix multiplication
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void matMulNaive(const float *A, const float *B, float *C, int M, int K, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * K + col];
        C[row * N + col] = sum;
    }
}

void matMulCpu(const float *A, const float *B, float *C, int M, int K, int N) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main() {
    int M = 300, K = 200, N = 500;
    size_t bytesA = M * K * sizeof(float), bytesB = K * N * sizeof(float), bytesC = M * N * sizeof(float);
    float *h_A = (float *)malloc(bytesA), *h_B = (float *)malloc(bytesB);
    float *h_C = (float *)malloc(bytesC), *ref = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX;

    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc((void **)&d_A, bytesA));
    CHECK(cudaMalloc((void **)&d_B, bytesB));
    CHECK(cudaMalloc((void **)&d_C, bytesC));
    CHECK(cudaMemcpy(d_A, h_A, bytesA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, bytesB, cudaMemcpyHostToDevice));

    dim3 block(16, 16);
    dim3 grid((M + block.x - 1) / block.x, (N + block.y - 1) / block.y);
    matMulNaive<<<grid, block>>>(d_A, d_B, d_C, M, K, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, bytesC, cudaMemcpyDeviceToHost));

    matMulCpu(h_A, h_B, ref, M, K, N);
    float worst = 0;
    for (int i = 0; i < M * N; i++) worst = fmaxf(worst, fabsf(h_C[i] - ref[i]));
    printf("max difference %g: %s\n", worst, worst < 1e-2f ? "PASS" : "FAIL");
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C); free(ref);
    return 0;
}

// Lab: C = A * B with tiles, each thread computes 2 x 2 elements
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define T 16          // threads per edge
#define TILE (2 * T)  // elements of C per edge
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

// thread computes rows ty, ty+T and columns tx, tx+T of the 32 x 32 tile
__global__ void matmul_2x2(const float *A, const float *B, float *C, int M, int K, int N) {
    __shared__ float As[TILE][T];
    __shared__ float Bs[T][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float c00 = 0, c01 = 0, c10 = 0, c11 = 0;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[ty][tx]     = (row < M && k0 + tx < K)     ? A[row * K + k0 + tx] : 0.0f;
        As[ty + T][tx] = (row + T < M && k0 + tx < K) ? A[(row + T) * K + k0 + tx] : 0.0f;
        Bs[ty][tx]     = (k0 + ty < K && col < N)     ? B[(k0 + ty) * N + col] : 0.0f;
        Bs[ty][tx + T] = (k0 + ty < K && col + T < N) ? B[(k0 + ty) * N + col + T] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; k++) {
            float a0 = As[ty][k], a1 = As[ty + T][k];
            float b0 = Bs[k][tx], b1 = Bs[k][tx + T];
            c00 += a0 * b0;
            c01 += a0 * b1;
            c10 += a1 * b0;
            c11 += a1 * b1;
        }
        __syncthreads();
    }
    if (row < M && col < N)         C[row * N + col] = c00;
    if (row < M && col + T < N)     C[row * N + col + T] = c01;
    if (row + T < M && col < N)     C[(row + T) * N + col] = c10;
    if (row + T < M && col + T < N) C[(row + T) * N + col + T] = c11;
}

void matmul_cpu(const float *A, const float *B, float *C, int M, int K, int N) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main(int argc, char **argv) {
    int M = argc > 1 ? atoi(argv[1]) : 600;
    int K = argc > 2 ? atoi(argv[2]) : 400;
    int N = argc > 3 ? atoi(argv[3]) : 500;
    size_t sizeA = (size_t)M * K * sizeof(float);
    size_t sizeB = (size_t)K * N * sizeof(float);
    size_t sizeC = (size_t)M * N * sizeof(float);
    float *h_A = (float *)malloc(sizeA), *h_B = (float *)malloc(sizeB);
    float *h_C = (float *)malloc(sizeC), *h_ref = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) h_A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) h_B[i] = rand() / (float)RAND_MAX;
    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, sizeA));
    CHECK(cudaMalloc(&d_B, sizeB));
    CHECK(cudaMalloc(&d_C, sizeC));
    CHECK(cudaMemcpy(d_A, h_A, sizeA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, sizeB, cudaMemcpyHostToDevice));
    dim3 block(T, T);
    dim3 grid((N + T - 1) / T, (M + T - 1) / T);
    matmul_2x2<<<grid, block>>>(d_A, d_B, d_C, M, K, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, sizeC, cudaMemcpyDeviceToHost));
    matmul_cpu(h_A, h_B, h_ref, M, K, N);
    int bad = 0;
    for (int i = 0; i < M * N; i++)
        if (fabs(h_C[i] - h_ref[i]) > 1e-3 * fabs(h_ref[i])) bad++;
    printf("%d wrong\n", bad);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    return bad != 0;
}

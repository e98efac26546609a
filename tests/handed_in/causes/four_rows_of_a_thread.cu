// Exercise 5.3: tiles of 32 x 32, 32 x 8 threads
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define TILE 32
#define ROWS 8

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void gemm_tiled4(const float *A, const float *B, float *C, int N)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    int row0 = blockIdx.y * TILE + ty;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int t = 0; t < (N + TILE - 1) / TILE; t++) {
        for (int i = 0; i < TILE; i += ROWS) {
            int ra = row0 + i, ca = t * TILE + tx;
            int rb = t * TILE + ty + i;
            As[ty + i][tx] = (ra < N && ca < N) ? A[ra * N + ca] : 0.0f;
            Bs[ty + i][tx] = (rb < N && col < N) ? B[rb * N + col] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float b = Bs[k][tx];
            for (int i = 0; i < 4; i++)
                sum[i] += As[ty + i * ROWS][k] * b;
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++) {
        int row = row0 + i * ROWS;
        if (row < N && col < N) C[row * N + col] = sum[i];
    }
}

void gemm_cpu(const float *A, const float *B, float *C, int N)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float s = 0.0f;
            for (int k = 0; k < N; k++) s += A[i * N + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main(int argc, char **argv)
{
    int N = argc > 1 ? atoi(argv[1]) : 1024;
    size_t bytes = (size_t)N * N * sizeof(float);
    float *h_A = (float *)malloc(bytes), *h_B = (float *)malloc(bytes);
    float *h_C = (float *)malloc(bytes), *h_ref = (float *)malloc(bytes);
    for (int i = 0; i < N * N; i++) { h_A[i] = rand() / (float)RAND_MAX; h_B[i] = rand() / (float)RAND_MAX; }
    float *d_A, *d_B, *d_C;
    CHECK(cudaMalloc(&d_A, bytes));
    CHECK(cudaMalloc(&d_B, bytes));
    CHECK(cudaMalloc(&d_C, bytes));
    CHECK(cudaMemcpy(d_A, h_A, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_B, h_B, bytes, cudaMemcpyHostToDevice));
    dim3 block(TILE, ROWS);
    dim3 grid((N + TILE - 1) / TILE, (N + TILE - 1) / TILE);
    gemm_tiled4<<<grid, block>>>(d_A, d_B, d_C, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(h_C, d_C, bytes, cudaMemcpyDeviceToHost));
    gemm_cpu(h_A, h_B, h_ref, N);
    float maxerr = 0.0f;
    for (int i = 0; i < N * N; i++) maxerr = fmaxf(maxerr, fabsf(h_C[i] - h_ref[i]));
    printf("N = %d, max error %g\n", N, maxerr);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(h_A); free(h_B); free(h_C); free(h_ref);
    return 0;
}

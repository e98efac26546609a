// Assignment 2, version 4: each thread computes 4 rows of one column
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define TILE 16
#define ROWS 4
#define BM (TILE * ROWS)   // 64 rows of C per block

__global__ void matmul_v4(const float *A, const float *B, float *C, int M, int K, int N) {
    __shared__ float As[BM][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row0 = blockIdx.y * BM;
    int col = blockIdx.x * TILE + tx;
    float sum[ROWS] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int t = 0; t < K; t += TILE) {
        for (int r = 0; r < ROWS; r++) {
            int y = ty + r * TILE;
            if (row0 + ty < M && t + tx < K)
                As[y][tx] = A[(row0 + y) * K + t + tx];
            else
                As[y][tx] = 0.0f;
        }
        if (t + ty < K && col < N)
            Bs[ty][tx] = B[(t + ty) * N + col];
        else
            Bs[ty][tx] = 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; k++) {
            float b = Bs[k][tx];
            for (int r = 0; r < ROWS; r++)
                sum[r] += As[ty * ROWS + r][k] * b;
        }
        __syncthreads();
    }
    for (int r = 0; r < ROWS; r++) {
        int row = row0 + ty * ROWS + r;
        if (row < M && col < N)
            C[row * N + col] = sum[r];
    }
}

void matmul_seq(const float *A, const float *B, float *C, int M, int K, int N) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

int main(int argc, char **argv) {
    int M = argc > 1 ? atoi(argv[1]) : 500;
    int K = argc > 2 ? atoi(argv[2]) : 300;
    int N = argc > 3 ? atoi(argv[3]) : 400;
    size_t sizeA = M * K * sizeof(float), sizeB = K * N * sizeof(float), sizeC = M * N * sizeof(float);
    float *A = (float *)malloc(sizeA), *B = (float *)malloc(sizeB);
    float *C = (float *)malloc(sizeC), *ref = (float *)malloc(sizeC);
    for (int i = 0; i < M * K; i++) A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) B[i] = rand() / (float)RAND_MAX;
    matmul_seq(A, B, ref, M, K, N);

    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, sizeA);
    cudaMalloc(&d_B, sizeB);
    cudaMalloc(&d_C, sizeC);
    cudaMemcpy(d_A, A, sizeA, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, B, sizeB, cudaMemcpyHostToDevice);

    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_v4<<<grid, block>>>(d_A, d_B, d_C, M, K, N);
    cudaError_t err = cudaDeviceSynchronize();
    if (err != cudaSuccess) { printf("%s\n", cudaGetErrorString(err)); return 1; }
    cudaMemcpy(C, d_C, sizeC, cudaMemcpyDeviceToHost);

    float worst = 0;
    for (int i = 0; i < M * N; i++) worst = fmaxf(worst, fabsf(C[i] - ref[i]));
    printf("max error %g\n", worst);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(A); free(B); free(C); free(ref);
    return 0;
}

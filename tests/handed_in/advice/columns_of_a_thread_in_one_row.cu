#include <cuda_runtime.h>
#include <stdlib.h>

#define ROWS 32
#define COLS 128
#define STEP 16
#define PER 8

// 16 x 16 threads; each has 2 rows and 8 columns of the tile of C, side by side.
__global__ void wide(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float left[ROWS][STEP], right[STEP][COLS];
    int t = threadIdx.y * 16 + threadIdx.x, row = blockIdx.y * ROWS, col = blockIdx.x * COLS;
    float sum[2][PER] = {};
    for (int k0 = 0; k0 < K; k0 += STEP) {
        for (int i = t; i < ROWS * STEP; i += 256) {
            int y = row + i / STEP, x = k0 + i % STEP;
            left[i / STEP][i % STEP] = y < M && x < K ? A[y * K + x] : 0;
        }
        for (int i = t; i < STEP * COLS; i += 256) {
            int y = k0 + i / COLS, x = col + i % COLS;
            right[i / COLS][i % COLS] = y < K && x < N ? B[y * N + x] : 0;
        }
        __syncthreads();
        for (int k = 0; k < STEP; k++)
            for (int j = 0; j < PER; j++) {
                float b = right[k][threadIdx.x * PER + j];
                sum[0][j] += left[threadIdx.y][k] * b;
                sum[1][j] += left[threadIdx.y + 16][k] * b;
            }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < PER; j++) {
            int y = row + threadIdx.y + i * 16, x = col + threadIdx.x * PER + j;
            if (y < M && x < N) C[y * N + x] = sum[i][j];
        }
}

int main() {
    int M = 96, N = 260, K = 80;
    float *A, *B, *C;
    cudaMallocManaged(&A, M * K * sizeof(float));
    cudaMallocManaged(&B, K * N * sizeof(float));
    cudaMallocManaged(&C, M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) A[i] = rand() % 10;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 10;
    wide<<<dim3((N + COLS - 1) / COLS, (M + ROWS - 1) / ROWS), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

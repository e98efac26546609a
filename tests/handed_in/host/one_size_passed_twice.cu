#include <cuda_runtime.h>

#define ROWS 96
#define INNER 160
#define COLS 224

__global__ void gemm(float *P, float *Q, float *R, int p_rows, int p_cols, int q_cols, int r_cols) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row < p_rows && col < q_cols) {
        float sum = 0;
        for (int k = 0; k < p_cols; k++) sum += P[row * p_cols + k] * Q[k * q_cols + col];
        R[row * r_cols + col] = sum;
    }
}

int main() {
    float *P, *Q, *R;
    cudaMalloc(&P, ROWS * INNER * sizeof(float));
    cudaMalloc(&Q, INNER * COLS * sizeof(float));
    cudaMalloc(&R, ROWS * COLS * sizeof(float));
    gemm<<<dim3(COLS / 16, ROWS / 16), dim3(16, 16)>>>(P, Q, R, ROWS, INNER, COLS, INNER);
    cudaDeviceSynchronize();
}

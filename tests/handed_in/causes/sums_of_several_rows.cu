#include <cuda_runtime.h>
#define ROWS 4
__global__ void rows_in_turn(const double *P, const double *Q, double *R, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int first = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    double dot[2] = {0, 0};
    for (int r = first; r < first + ROWS; ++r) {
        if (r >= n || col >= n) break;
        for (int k = 0; k < n; ++k) dot[k % 2] += P[r * n + k] * Q[k * n + col];
        R[r * n + col] = dot[0] + dot[1];
    }
}
int main() {
    const int n = 120;
    double *P, *Q, *R;
    cudaMalloc(&P, sizeof(double) * n * n);
    cudaMalloc(&Q, sizeof(double) * n * n);
    cudaMalloc(&R, sizeof(double) * n * n);
    dim3 threads(16, 8), blocks((n + 15) / 16, (n + 8 * ROWS - 1) / (8 * ROWS));
    rows_in_turn<<<blocks, threads>>>(P, Q, R, n);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

#define EDGE 8

// The next tiles are loaded while these are multiplied.
__global__ void ahead(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float a[EDGE][EDGE], b[EDGE][EDGE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * EDGE + y, col = blockIdx.x * EDGE + x, steps = (K + EDGE - 1) / EDGE;
    float next_a = row < M && x < K ? A[row * K + x] : 0;
    float next_b = col < N && y < K ? B[y * N + col] : 0;
    float sum = 0;
    for (int step = 0; step < steps; step++) {
        a[y][x] = next_a;
        b[y][x] = next_b;
        __syncthreads();
        if (step + 1 < steps) {
            int k_a = (step + 1) * EDGE + x, k_b = step * EDGE + y;
            next_a = row < M && k_a < K ? A[row * K + k_a] : 0;
            next_b = col < N && k_b < K ? B[k_b * N + col] : 0;
        }
        for (int k = 0; k < EDGE; k++)
            sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

int main()
{
    int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    ahead<<<dim3((N + EDGE - 1) / EDGE, (M + EDGE - 1) / EDGE), dim3(EDGE, EDGE)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>
#define T 32
#define ROWS 8
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[T][T], Bs[T][T];
    int col = blockIdx.x * T + threadIdx.x, row0 = blockIdx.y * T + threadIdx.y;
    float acc[T / ROWS] = {0};
    for (int k0 = 0; k0 < K; k0 += T) {
        for (int i = 0; i < T; i += ROWS) {
            int r = row0 + i, ka = k0 + threadIdx.x, kb = k0 + threadIdx.y + i;
            As[threadIdx.y + i][threadIdx.x] = r < M && ka < K ? A[r * K + ka] : 0.f;
            Bs[threadIdx.y + i][threadIdx.x] = kb < K && col < N ? B[kb * N + col] : 0.f;
        }
        __syncthreads();
        for (int k = 0; k < T; k++)
            for (int i = 0; i < T / ROWS; i++) acc[i] += As[threadIdx.y + i * ROWS][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    for (int i = 0; i < T / ROWS; i++)
        if (row0 < M && col < N) C[(row0 + i * ROWS) * N + col] = acc[i];
}
int main() {
    int M = 100, N = 70, K = 90; float *A, *B, *C;
    cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
    mm<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, ROWS)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

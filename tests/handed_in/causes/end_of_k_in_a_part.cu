#include <cuda_runtime.h>

#define T 16

__global__ void product(const float *A, const float *B, float *C, int m, int n, int k, int piece) {
    __shared__ float As[T][T], Bs[T][T];
    int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    int begin = blockIdx.z * piece, end = min(begin + piece, k);
    float s = 0;
    for (int kk = begin; kk < end; kk += T) {
        As[y][x] = row < m && kk + x < k ? A[row * k + kk + x] : 0.0f;
        Bs[y][x] = kk + y < k && col < n ? B[(kk + y) * n + col] : 0.0f;
        __syncthreads();
        for (int t = 0; t < T; ++t) s += As[y][t] * Bs[t][x];
        __syncthreads();
    }
    if (row < m && col < n) atomicAdd(&C[row * n + col], s);
}

int main() {
    int m = 60, n = 75, k = 500;
    float *A, *B, *C;
    cudaMalloc(&A, m * k * sizeof(float));
    cudaMalloc(&B, k * n * sizeof(float));
    cudaMalloc(&C, m * n * sizeof(float));
    cudaMemset(C, 0, m * n * sizeof(float));
    dim3 grid((n + T - 1) / T, (m + T - 1) / T, 4);
    product<<<grid, dim3(T, T)>>>(A, B, C, m, n, k, (k + 3) / 4);
    cudaDeviceSynchronize();
}

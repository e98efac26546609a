#include <cuda_runtime.h>

#define T 16

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float as[T][T], bs[T][T];
    int i = blockIdx.y * T + threadIdx.y, j = blockIdx.x * T + threadIdx.x;
    float s = 0.0f;
    for (int p = 0; p < k; p += T) {
        as[threadIdx.y][threadIdx.x] = i < m && p + threadIdx.x < k ? a[i * k + p + threadIdx.x] : 0.0f;
        bs[threadIdx.y][threadIdx.x] = p + threadIdx.x < k && j < n ? b[(p + threadIdx.x) * n + j] : 0.0f;
        __syncthreads();
        for (int q = 0; q < T; ++q) s += as[threadIdx.y][q] * bs[q][threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = s;
}

int main() {
    int m = 210, n = 175, k = 130;
    float *a, *b, *c;
    cudaMalloc(&a, m * k * sizeof(float));
    cudaMalloc(&b, k * n * sizeof(float));
    cudaMalloc(&c, m * n * sizeof(float));
    matmul<<<dim3((n + T - 1) / T, (m + T - 1) / T), dim3(T, T)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
}

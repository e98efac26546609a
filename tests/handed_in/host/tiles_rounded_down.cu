#include <cuda_runtime.h>
#define T 16
__global__ void mm(const float* A, const float* B, float* C, int n, int tiles) {
    __shared__ float a[T][T], b[T][T];
    int r = blockIdx.y * T + threadIdx.y, c = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        int ac = t * T + threadIdx.x, br = t * T + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = (r < n && ac < n) ? A[r * n + ac] : 0.0f;
        b[threadIdx.y][threadIdx.x] = (br < n && c < n) ? B[br * n + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (r < n && c < n) C[r * n + c] = sum;
}
void run(const float* A, const float* B, float* C, int n) {
    dim3 threads(T, T), blocks((n + T - 1) / T, (n + T - 1) / T);
    mm<<<blocks, threads>>>(A, B, C, n, n / T);
}

#include <cuda_runtime.h>
#define T 16
__device__ int rowOf(int i, int n) { return i / n; }
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    int r = blockIdx.y * T + threadIdx.x / T, c = blockIdx.x * T + threadIdx.x % T;
    r = blockIdx.y * T + rowOf(threadIdx.x, T);
    if (r < M && c < N) {
        float s = 0;
        for (int k = 0; k < K; k++) s += A[r * K + k] * B[k * N + c];
        C[r * N + c] = s;
    }
}
int main() {
    int M = 100, N = 90, K = 70;
    float *a, *b, *c;
    cudaMalloc(&a, M * K * 4); cudaMalloc(&b, K * N * 4); cudaMalloc(&c, M * N * 4);
    mm<<<dim3(N / T, M / T), T * T>>>(a, b, c, M, N, K);
    cudaDeviceSynchronize();
}

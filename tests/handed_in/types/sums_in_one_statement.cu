#include <cuda_runtime.h>
#define T 16
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[T][T];
    __shared__ float4 Bs[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k0 = 0; k0 < K; k0 += T) {
        As[threadIdx.y][threadIdx.x] = row < M && k0 + threadIdx.x < K ? A[row * K + k0 + threadIdx.x] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = k0 + threadIdx.y < K && col < N / 4 ? ((const float4 *)B)[(k0 + threadIdx.y) * (N / 4) + col] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int q = 0; q < T; q++) {
            float s = As[threadIdx.y][q];
            float4 r = Bs[q][threadIdx.x];
            sum.x += s * r.x, sum.y += s * r.y, sum.z += s * r.z, sum.w += s * r.w;
        }
        __syncthreads();
    }
    if (row < M && col < N / 4) ((float4 *)C)[row * (N / 4) + col] = sum;
}
int main() {
    int M = 130, N = 260, K = 68;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
    dim3 block(T, T), grid((N / 4 + T - 1) / T, (M + T - 1) / T);
    mm<<<grid, block>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

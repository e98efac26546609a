#include <cuda_runtime.h>
#include <cstdio>
__global__ void gemm_stride(const float *A, const float *B, float *C, int M, int N, int K) {
    int stride = blockDim.x * gridDim.x;
    for (int idx = blockIdx.x * blockDim.x + threadIdx.x; idx < M * N; idx += stride) {
        int i = idx / M, j = idx % M;
        float s = 0.f;
        for (int k = 0; k < K; ++k) s = fmaf(A[i * K + k], B[k * N + j], s);
        C[idx] = s;
    }
}
int main(int argc, char **argv) {
    int M = 123, N = 77, K = 50;
    float *A, *B, *C;
    cudaMallocManaged(&A, sizeof(float) * M * K); cudaMallocManaged(&B, sizeof(float) * K * N); cudaMallocManaged(&C, sizeof(float) * M * N);
    gemm_stride<<<32, 256>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

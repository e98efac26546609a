#include <cuda_fp16.h>
struct Item { half a; float b; };
__global__ void pads(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ Item s[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        s[threadIdx.y][threadIdx.x].a = __float2half(1.0f);
        s[threadIdx.y][threadIdx.x].b = row < M && k0 + threadIdx.x < K ? A[row * K + k0 + threadIdx.x] : 0;
        __syncthreads();
        for (int k = 0; k < 16 && k0 + k < K; k++) { Item x = s[threadIdx.y][k]; sum += x.b * __half2float(x.a) * (col < N ? B[(k0 + k) * N + col] : 0); }
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    pads<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

// Each launch multiplies some columns, in rows as long as those of the whole matrices.
#include <cuda_runtime.h>
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K, int ldb)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float s = 0;
    for (int k = 0; k < K; ++k) s += A[r * K + k] * B[k * ldb + c];
    C[r * ldb + c] = s;
}
int main()
{
    int M = 256, N = 128, K = 64;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    int cols = N / 4;
    dim3 block(16, 16), grid((cols + 15) / 16, (M + 15) / 16);
    for (int i = 0; i < 4; ++i) mm<<<grid, block>>>(dA, dB + i * cols, dC + i * cols, M, cols, K, N);
    cudaDeviceSynchronize();
}

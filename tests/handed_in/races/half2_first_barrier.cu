#include <cuda_fp16.h>

// each thread loads two neighbouring halves; the tile of B is stored as columns, two halves of two threads in a word
constexpr int BM = 16, BK = 32;

__global__ void hgemm(const half *A, const half *B, half *C, int M, int N, int K) {
    __shared__ half2 a[BM][BK / 2];
    __shared__ half b[BM][BK];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * BM + ty, col = blockIdx.x * BM + tx;
    float sum = 0.f;
    const half zero = __float2half(0.f);
    for (int k0 = 0; k0 < K; k0 += BK) {
        int k = k0 + 2 * tx;
        half x = row < M && k < K ? A[row * K + k] : zero, y = row < M && k + 1 < K ? A[row * K + k + 1] : zero;
        a[ty][tx] = __halves2half2(x, y);
        for (int i = 0; i < 2; i++) {
            int kb = k0 + ty + 16 * i;
            b[tx][ty + 16 * i] = kb < K && col < N ? B[kb * N + col] : zero;
        }
        for (int i = 0; i < BK / 2; i++) {
            float2 p = __half22float2(a[ty][i]), q = __half22float2(*reinterpret_cast<half2 *>(&b[tx][2 * i]));
            sum += p.x * q.x + p.y * q.y;
        }
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = __float2half(sum);
}

int main() {
    const int M = 512, N = 256, K = 128;
    half *A, *B; half *C;
    cudaMalloc(&A, sizeof(half) * M * K);
    cudaMalloc(&B, sizeof(half) * K * N);
    cudaMalloc(&C, sizeof(half) * M * N);
    hgemm<<<dim3((N + 15) / 16, (M + 15) / 16), dim3(16, 16)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

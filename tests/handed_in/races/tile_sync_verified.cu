#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float a[8][32], b[32][33];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    float v = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        a[threadIdx.y][threadIdx.x] = row < M && k0 + threadIdx.x < K ? A[row * K + k0 + threadIdx.x] : 0;
        for (int i = threadIdx.y; i < 32; i += 8) b[i][threadIdx.x] = k0 + i < K && col < N ? B[(k0 + i) * N + col] : 0;
        warp.sync();
        for (int k = 0; k < 32; k++) v += a[threadIdx.y][k] * b[k][threadIdx.x];
        block.sync();
    }
    if (row < M && col < N) C[row * N + col] = v;
}

int main() {
    const int M = 512, N = 256, K = 128;
    float *A, *B; float *C;
    cudaMalloc(&A, sizeof(float) * M * K);
    cudaMalloc(&B, sizeof(float) * K * N);
    cudaMalloc(&C, sizeof(float) * M * N);
    mm<<<dim3((N + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
    return 0;
}

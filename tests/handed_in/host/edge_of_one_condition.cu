#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
template <int EDGE>
__global__ void product(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float left[EDGE][EDGE], right[EDGE][EDGE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * EDGE + y, col = blockIdx.x * EDGE + x;
    float sum = 0;
    for (int k = 0; k < K; k += EDGE) {
        left[y][x] = (row < M && k + x < K) ? A[row * K + k + x] : 0;
        right[y][x] = (k + y < K && col < N) ? B[(k + y) * N + col] : 0;
        __syncthreads();
        for (int i = 0; i < EDGE; ++i) sum += left[y][i] * right[i][x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
void run(int edge, const float *A, const float *B, float *C, int M, int N, int K)
{
    dim3 threads(edge, edge), grid((N + edge - 1) / edge, (M + edge - 1) / edge);
    if (edge == 32 && N >= 32) {
        product<32><<<grid, threads>>>(A, B, C, M, N, K);
        return;
    }
    if (16 == edge) {
        product<16><<<grid, threads>>>(A, B, C, M, N, K);
        return;
    }
    product<8><<<grid, threads>>>(A, B, C, M, N, K);
}
int main()
{
    int M = 100, N = 120, K = 80;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    run(8, A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

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
    if (edge == 8)
        product<16><<<grid, threads>>>(A, B, C, M, N, K);
    else
        product<16><<<grid, threads>>>(A, B, C, M, N, K);
}

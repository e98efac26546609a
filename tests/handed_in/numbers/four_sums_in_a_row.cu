#include <cuda_runtime.h>
#define TILE 16
#define W 4
__global__ void reuse(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE + 1], Bs[TILE][TILE * W + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE * W + tx;
    float sum[W] = {0};
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int ka = t * TILE + tx, kb = t * TILE + ty;
        As[tx][ty] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        for (int w = 0; w < W; w++) {
            int c = col + w * TILE;
            Bs[ty][tx + w * TILE] = (kb < K && c < N) ? B[kb * N + c] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            for (int w = 0; w < W; w++)
                sum[w] += As[i][ty] * Bs[i][tx + w * TILE];
        __syncthreads();
    }
    for (int w = 0; w < W; w++)
        if (row < M && col + w * TILE < N) C[row * N + col + w * TILE] = sum[w];
}

#include <cuda_runtime.h>
constexpr int TILE = 32, STEP = 8, OWN = 4;

__global__ void register_tile(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float as[STEP][TILE], bs[STEP][TILE];
    int tid = threadIdx.y * blockDim.x + threadIdx.x;
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    float of_a[OWN], of_b[OWN], sum[OWN][OWN] = {};
    for (int first = 0; first < K; first += STEP) {
        for (int e = tid; e < TILE * STEP; e += blockDim.x * blockDim.y) {
            int r = e / STEP, k = e % STEP;
            as[k][r] = top + r < M && first + k < K ? A[(top + r) * K + first + k] : 0;
            bs[e / TILE][e % TILE] = first + e / TILE < K && left + e % TILE < N
                                         ? B[(first + e / TILE) * N + left + e % TILE] : 0;
        }
        __syncthreads();
        for (int k = 0; k < STEP; ++k) {
            for (int r = 0; r < OWN; ++r) of_a[r] = as[k][threadIdx.y * OWN + r];
            for (int c = 0; c < OWN; ++c) of_b[c] = bs[k][threadIdx.x * OWN + c];
            for (int r = 0; r < OWN; ++r)
                for (int c = 0; c < OWN; ++c) sum[r][c] += of_a[r] * of_b[r];
        }
        __syncthreads();
    }
    for (int r = 0; r < OWN; ++r)
        for (int c = 0; c < OWN; ++c) {
            int row = top + threadIdx.y * OWN + r, col = left + threadIdx.x * OWN + c;
            if (row < M && col < N) C[row * N + col] = sum[r][c];
        }
}

int main() {
    int M = 60, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    dim3 threads(TILE / OWN, TILE / OWN), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    register_tile<<<grid, threads>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

#include <cuda_runtime.h>

#define EDGE 16
__device__ unsigned int next_tile;

// Each block takes the next tile of C until none is left.
__global__ void from_counter(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ unsigned int tile;
    unsigned int across = (N + EDGE - 1) / EDGE, tiles = across * ((M + EDGE - 1) / EDGE);
    for (;;) {
        if (threadIdx.x == 0 && threadIdx.y == 0)
            tile = atomicAdd(&next_tile, 1u);
        __syncthreads();
        unsigned int own = tile;
        __syncthreads();
        if (own >= tiles)
            break;
        int row = own / across * EDGE + threadIdx.y, col = own % across * EDGE + threadIdx.x;
        float sum = 0;
        for (int k = 0; k < K && row < M && col < N; k++)
            sum += A[row * K + k] * B[k * N + col];
        if (row < M && col < N)
            C[row * N + col] = sum;
    }
}

int main()
{
    int M = 70, N = 90, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(float));
    cudaMalloc(&B, K * N * sizeof(float));
    cudaMalloc(&C, M * N * sizeof(float));
    from_counter<<<4, dim3(EDGE, EDGE)>>>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

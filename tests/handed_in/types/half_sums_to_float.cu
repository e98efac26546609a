#include <cuda_fp16.h>
#include <stdio.h>

const int TILE_DIM = 32;

// inputs in half to save bandwidth, C in float
__global__ void mixed_gemm(__half const *a, __half const *b, float *c, unsigned m, unsigned n, unsigned k)
{
    __shared__ __half tileA[TILE_DIM][TILE_DIM];
    __shared__ __half tileB[TILE_DIM][TILE_DIM + 2];
    unsigned row = blockIdx.y * TILE_DIM + threadIdx.y;
    unsigned col = blockIdx.x * TILE_DIM + threadIdx.x;
    __half value = __float2half(0.0f);
    for (unsigned base = 0; base < k; base += TILE_DIM) {
        bool okA = row < m && base + threadIdx.x < k, okB = base + threadIdx.y < k && col < n;
        tileA[threadIdx.y][threadIdx.x] = okA ? a[row * k + base + threadIdx.x] : __float2half(0.0f);
        tileB[threadIdx.y][threadIdx.x] = okB ? b[(base + threadIdx.y) * n + col] : __float2half(0.0f);
        __syncthreads();
        for (int i = 0; i < TILE_DIM; ++i)
            value = __hadd(value, __hmul(tileA[threadIdx.y][i], tileB[i][threadIdx.x]));
        __syncthreads();
    }
    if (row < m && col < n) c[row * n + col] = __half2float(value);
}

void multiply(__half const *a, __half const *b, float *c, unsigned m, unsigned n, unsigned k)
{
    dim3 threads(TILE_DIM, TILE_DIM);
    dim3 blocks((n + TILE_DIM - 1) / TILE_DIM, (m + TILE_DIM - 1) / TILE_DIM);
    mixed_gemm<<<blocks, threads>>>(a, b, c, m, n, k);
}

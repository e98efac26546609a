// The product with a float4 or float2 of B per thread, which is stored to a column of shared memory.
//
// param:   W = 4 in 2, 4
// param:   BLOCK_SIZE = 16 in 8, 16
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / (BLOCK_SIZE * W)), ceil(M / BLOCK_SIZE)
// requires: N % (BLOCK_SIZE * W) == 0
#if W == 4
#define VEC float4
#else
#define VEC float2
#endif
__global__ void vec(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ VEC tile[BLOCK_SIZE][BLOCK_SIZE];
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    const int col = (blockIdx.x * BLOCK_SIZE + threadIdx.x) * W;
    float sum[W] = {};
    for (int k = 0; k < K; ++k) {
        const float a = row < M ? A[row * K + k] : 0;
        const VEC b = *(const VEC *)&B[k * N + col];
        tile[threadIdx.x][threadIdx.y] = b;
        __syncthreads();
        const VEC t = tile[threadIdx.x][threadIdx.y];
        __syncthreads();
        sum[0] += a * t.x; sum[1] += a * t.y;
#if W == 4
        sum[2] += a * t.z; sum[3] += a * t.w;
#endif
    }
    if (row < M) {
        VEC c;
        c.x = sum[0]; c.y = sum[1];
#if W == 4
        c.z = sum[2]; c.w = sum[3];
#endif
        *(VEC *)&C[row * N + col] = c;
    }
}

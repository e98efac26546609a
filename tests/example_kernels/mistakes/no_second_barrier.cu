// The mistake: without a barrier, a fast thread may overwrite a tile that other threads still read.
//
// sources:  PMPP chapter 5 (why each barrier is needed)
// param:    BLOCK_SIZE = 16 in 8, 16
// threads:  BLOCK_SIZE, BLOCK_SIZE
// grid:     N / BLOCK_SIZE, M / BLOCK_SIZE
// requires: M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0

__global__ void no_second_barrier(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float subA[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float subB[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty, col = blockIdx.x * BLOCK_SIZE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        subA[ty][tx] = A[row * K + k0 + tx];
        subB[ty][tx] = B[(k0 + ty) * N + col];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            sum += subA[ty][k] * subB[k][tx];
    }
    C[row * N + col] = sum;
}

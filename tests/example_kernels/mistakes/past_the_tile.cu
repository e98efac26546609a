// The mistake: the inner loop has one iteration too many, and reads past the last element of the tiles.
//
// param:    BLOCK_SIZE = 16 in 8, 16
// threads:  BLOCK_SIZE, BLOCK_SIZE
// grid:     N / BLOCK_SIZE, M / BLOCK_SIZE
// requires: M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0

__global__ void past_the_tile(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty, col = blockIdx.x * BLOCK_SIZE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[ty][tx] = A[row * K + k0 + tx];
        Bs[ty][tx] = B[(k0 + ty) * N + col];
        __syncthreads();
        for (int k = 0; k <= BLOCK_SIZE; ++k)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

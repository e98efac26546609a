// The mistake: tiles are filled with x along the row, and read with x and y swapped. The result is correct, but slow.
//
// sources:  Sheffield lab 06 (step 3d against step 2a)
// param:    BLOCK_SIZE = 32 in 16, 32
// threads:  BLOCK_SIZE, BLOCK_SIZE
// grid:     N / BLOCK_SIZE, M / BLOCK_SIZE
// requires: M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0

__global__ void swaps_x_and_y(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * BLOCK_SIZE, col0 = blockIdx.x * BLOCK_SIZE;
    float sum = 0;
    for (int i = 0; i < K / BLOCK_SIZE; ++i) {
        As[ty][tx] = A[(row0 + ty) * K + i * BLOCK_SIZE + tx];
        Bs[ty][tx] = B[(i * BLOCK_SIZE + ty) * N + col0 + tx];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            sum += As[tx][k] * Bs[k][ty];
        __syncthreads();
    }
    C[(row0 + tx) * N + col0 + ty] = sum;
}

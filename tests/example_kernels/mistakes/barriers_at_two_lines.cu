// The mistake: half of the threads wait at the barrier in the if, the others at the one in the else.
//
// param:    BLOCK_SIZE = 16 in 8, 16
// threads:  BLOCK_SIZE, BLOCK_SIZE
// grid:     N / BLOCK_SIZE, M / BLOCK_SIZE
// requires: M % BLOCK_SIZE == 0, N % BLOCK_SIZE == 0, K % BLOCK_SIZE == 0

__global__ void barriers_at_two_lines(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * BLOCK_SIZE + ty, col = blockIdx.x * BLOCK_SIZE + tx;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        As[ty][tx] = A[row * K + k0 + tx];
        if (ty < BLOCK_SIZE / 2) {
            Bs[ty][tx] = B[(k0 + ty) * N + col];
            __syncthreads();
        } else {
            Bs[ty][tx] = B[(k0 + ty) * N + col];
            __syncthreads();
        }
        for (int k = 0; k < BLOCK_SIZE; ++k)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

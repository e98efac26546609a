// The mistake: <= instead of <, so one row of threads too many reads A and writes C.
//
// param:   BLOCK_SIZE = 16 in 8, 16
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / BLOCK_SIZE), M // BLOCK_SIZE + 1

__global__ void off_by_one(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    const int col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row <= M && col < N) {
        float sum = 0;
        for (int k = 0; k < K; ++k)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

// A thread stores four elements of B's column in shared memory word by word, and reads them once per row of its
// result. nvcc merges the words into wide accesses.
//
// param:   ROWS = 2 in 1, 2, 4
// types:   float32
// threads: 32
// grid:    ceil(N / 32), ceil(M / ROWS)

__global__ void four_words(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ __align__(16) element Bs[32][4];
    const int row0 = blockIdx.y * ROWS, col = blockIdx.x * 32 + threadIdx.x;
    element sum[ROWS] = {};
    for (int k0 = 0; k0 < K; k0 += 4) {
        element from[4];
#pragma unroll
        for (int w = 0; w < 4; ++w) from[w] = k0 + w < K && col < N ? B[(k0 + w) * N + col] : element(0);
#pragma unroll
        for (int w = 0; w < 4; ++w) Bs[threadIdx.x][w] = from[w];
        __syncthreads();
#pragma unroll
        for (int w = 0; w < 4; ++w) {
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                const element a = row0 + r < M && k0 + w < K ? A[(row0 + r) * K + k0 + w] : element(0);
                sum[r] += a * Bs[threadIdx.x][w];
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < ROWS; ++r)
        if (row0 + r < M && col < N) C[(row0 + r) * N + col] = sum[r];
}

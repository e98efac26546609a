// A thread computes a whole sub-matrix of C in global memory: elements are reused, but few threads run.
//
// sources:   CMU 15-418 recitation 2 ("Block CUDA, attempt 1")
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      ceil(N / (BLOCK_SIZE * BLOCK_SIZE)), ceil(M / (BLOCK_SIZE * BLOCK_SIZE))
// traffic:   (M * N * K + M * N * K + M * N * ceil(K / BLOCK_SIZE)) * sizeof(element),
//            (M * N + M * N * ceil(K / BLOCK_SIZE)) * sizeof(element)
//
// These are the blocked host loops on the GPU, unchanged: each thread does what the host did, and computes
// BLOCK_SIZE x BLOCK_SIZE elements. A block of threads then covers BLOCK_SIZE^2 rows and columns. With n = 1024
// and BLOCK_SIZE = 32 the grid is a single block: one multiprocessor works, and all others are idle.
//
//     cudamm show --diff cpu-block block-coarse

__global__ void block_coarse(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row0 = (blockIdx.y * BLOCK_SIZE + threadIdx.y) * BLOCK_SIZE;
    const int col0 = (blockIdx.x * BLOCK_SIZE + threadIdx.x) * BLOCK_SIZE;
    const int row_end = min(row0 + BLOCK_SIZE, M);  // an empty range for a thread beyond the matrix
    const int col_end = min(col0 + BLOCK_SIZE, N);

    // The sub-matrix starts at zero, because the steps below only add to it.
    for (int row = row0; row < row_end; ++row)
        for (int col = col0; col < col_end; ++col)
            C[row * N + col] = 0;

    for (int k0 = 0; k0 < K; k0 += BLOCK_SIZE) {
        const int k_end = min(k0 + BLOCK_SIZE, K);
        for (int row = row0; row < row_end; ++row)
            for (int col = col0; col < col_end; ++col) {
                element sum = 0;
                for (int k = k0; k < k_end; ++k)
                    sum += A[row * K + k] * B[k * N + col];
                C[row * N + col] += sum;
            }
    }
}

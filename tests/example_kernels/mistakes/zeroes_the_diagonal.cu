// The mistake: the loop that sets a sub-matrix of C to zero uses one variable for both rows and columns.
//
// sources:  CMU 15-418 recitation 2 (block CUDA, attempt 1)
// param:    LBLK = 8 in 4, 8
// threads:  4, 8
// grid:     ceil(N / (LBLK * 4)), ceil(M / (LBLK * 8))
// requires: M % LBLK == 0, N % LBLK == 0, K % LBLK == 0

__global__ void zeroes_the_diagonal(int M, int N, int K, const float *A, const float *B, float *C) {
    const int i = (blockIdx.y * blockDim.y + threadIdx.y) * LBLK;
    const int j = (blockIdx.x * blockDim.x + threadIdx.x) * LBLK;
    if (i >= M || j >= N) return;
    for (int bi = 0; bi < LBLK; ++bi)
        for (int bj = 0; bj < LBLK; ++bj)
            C[(i + bi) * N + j + bi] = 0;
    for (int k = 0; k < K; k += LBLK)
        for (int bi = 0; bi < LBLK; ++bi)
            for (int bj = 0; bj < LBLK; ++bj) {
                float sum = 0;
                for (int bk = 0; bk < LBLK; ++bk)
                    sum += A[(i + bi) * K + k + bk] * B[(k + bk) * N + j + bj];
                C[(i + bi) * N + j + bj] += sum;
            }
}

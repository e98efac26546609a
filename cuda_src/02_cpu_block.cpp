// The host loops in blocks: over sub-matrices that stay in the cache while they are used.
//
// sources:   CMU 15-418 recitation 2 ("Block C++")
// aliases:   block
// param:     BLOCK_SIZE = 32 in 8, 16, 32, 64, 128
//
// The matrices are cut into sub-matrices of BLOCK_SIZE x BLOCK_SIZE elements. For each sub-matrix of C the loop
// over bk adds products of one sub-matrix of A and one of B. Both fit into the cache, so an element that was
// fetched once is still there when it is used again. C starts at zero because each step only adds to it.
//
//     cudamm show --diff cpu-simple cpu-block

static int smaller(int a, int b) { return a < b ? a : b; }

void cpu_block(int M, int N, int K, const element *A, const element *B, element *C) {
    for (int i = 0; i < M * N; ++i) C[i] = 0;
    for (int bi = 0; bi < M; bi += BLOCK_SIZE)
        for (int bj = 0; bj < N; bj += BLOCK_SIZE)
            for (int bk = 0; bk < K; bk += BLOCK_SIZE) {
                // The last sub-matrix in each direction ends at the edge of the matrix.
                const int i_end = smaller(bi + BLOCK_SIZE, M);
                const int j_end = smaller(bj + BLOCK_SIZE, N);
                const int k_end = smaller(bk + BLOCK_SIZE, K);
                for (int i = bi; i < i_end; ++i)
                    for (int j = bj; j < j_end; ++j) {
                        element sum = 0;
                        for (int k = bk; k < k_end; ++k)
                            sum += A[i * K + k] * B[k * N + j];
                        C[i * N + j] += sum;
                    }
            }
}

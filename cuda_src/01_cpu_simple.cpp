// Three loops on the host: the definition of the product, and the reference every kernel must match.
//
// sources:   CMU 15-418 recitation 2 ("Simple C++")
// aliases:   simple
// sum-order: k
//
// C[i][j] is row i of A times column j of B. The row is read along memory, the column across it: each step
// of k jumps a whole row of B, so nearly every read of B is a new cache line of which one element is used.

void cpu_simple(int M, int N, int K, const element *A, const element *B, element *C) {
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            element sum = 0;
            for (int k = 0; k < K; ++k)
                sum += A[i * K + k] * B[k * N + j];
            C[i * N + j] = sum;
        }
}

// Three nested loops on the host: the definition of the product, which every kernel must match.
//
// sources:   CMU 15-418 recitation 2 ("Simple C++")
// aliases:   simple
// sum-order: k
//
// C[i][j] is the sum of A[i][k] B[k][j] over k. A is read along a row, through consecutive memory. B is read
// down a column: nearly every read is in a new cache line, of which the loop uses one element.

void cpu_simple(int M, int N, int K, const element *A, const element *B, element *C) {
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            accumulator sum = 0;
            for (int k = 0; k < K; ++k)
                sum += accumulator(A[i * K + k]) * accumulator(B[k * N + j]);
            C[i * N + j] = sum;
        }
}

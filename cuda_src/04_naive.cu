// One thread per element, its row taken from x: neighbouring threads read A a whole row apart.
//
// sources:   CMU 15-418 recitation 2 ("Simple CUDA"), PMPP chapter 5 (0.25 operations a byte)
// aliases:   cosimple
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      ceil(M / BLOCK_SIZE), ceil(N / BLOCK_SIZE)
// traffic:   (M * N * K + M * N * K) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// The 32 threads of a warp are neighbours in x, and memory is read in sectors of 32 bytes. Here x is the row, so
// at each k a warp reads A[row][k] of 32 rows: 32 sectors, of which it uses one element each. All 32 threads
// read the same B[k][col]. The stores to C are scattered like the loads of A.
//
//     cudamm show --diff cpu-simple naive

__global__ void naive(int M, int N, int K, const element *A, const element *B, result *C) {
    const int row = blockIdx.x * BLOCK_SIZE + threadIdx.x;  // the only two lines that differ from `coalesced`
    const int col = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    if (row >= M || col >= N) return;  // the grid consists of whole blocks and may reach past the edge of C

    accumulator sum = 0;
    for (int k = 0; k < K; ++k)
        sum += accumulator(A[row * K + k]) * accumulator(B[k * N + col]);
    C[row * N + col] = sum;
}

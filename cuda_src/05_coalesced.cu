// One thread per element, its column taken from x: neighbouring threads read neighbouring elements of B.
//
// sources:   CMU 15-418 recitation 2 ("Simple++ CUDA"), Tsinghua method 1, Sheffield lab 06 (the kernel given)
// aliases:   csimple, method1
// param:     BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:   BLOCK_SIZE, BLOCK_SIZE
// grid:      ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)
// traffic:   (M * N * K + M * N * K) * sizeof(element),
//            M * N * sizeof(result)
// sum-order: k
//
// The instructions are those of `naive`; only the assignment of threads to elements differs. A warp covers 32
// columns of one row. B[k][col] and C[row][col] are then 32 consecutive elements, in a few sectors that are used
// completely. A[row][k] is a single element, which the hardware reads once and broadcasts to all 32 threads.
//
//     cudamm show --diff naive coalesced

__global__ void coalesced(int M, int N, int K, const element *A, const element *B, result *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    const int col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row >= M || col >= N) return;

    accumulator sum = 0;
    for (int k = 0; k < K; ++k)
        sum += accumulator(A[row * K + k]) * accumulator(B[k * N + col]);
    C[row * N + col] = sum;
}

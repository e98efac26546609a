// The tiled kernel with a block edge chosen at launch: dynamic shared memory, the edge in constant memory.
//
// sources:      Sheffield lab 06 (exercise 2), PMPP chapter 5 (shared memory sized at run time)
// param:        BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32
// threads:      BLOCK_SIZE, BLOCK_SIZE
// grid:         ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)
// shared-bytes: 2 * BLOCK_SIZE * BLOCK_SIZE * sizeof(element)
// constant:     block_edge = BLOCK_SIZE
// traffic:      (M * K * ceil(N / BLOCK_SIZE) + K * N * ceil(M / BLOCK_SIZE)) * sizeof(element),
//               M * N * sizeof(result)
// sum-order:    k
//
// Compiled once, the kernel runs with any block size, so a program can ask the device for the best one. A launch
// has one dynamic shared array, which holds both tiles, one after the other. The compiler does not know the edge
// of a tile, so indices are computed by hand: [ty][tx] becomes [ty * block_edge + tx]. The offset of the second
// tile counts elements, not bytes. The cost: the compiler cannot unroll the loops completely.
//
//     cudamm show --diff tiled-bounds tiled-dynamic

__constant__ int block_edge;  // written by the host before the launch

__global__ void tiled_dynamic(int M, int N, int K, const element *A, const element *B, result *C) {
    extern __shared__ element tiles[];
    element *As = tiles;
    element *Bs = tiles + block_edge * block_edge;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * block_edge + ty;
    const int col = blockIdx.x * block_edge + tx;

    accumulator sum = 0;
    for (int k0 = 0; k0 < K; k0 += block_edge) {
        As[ty * block_edge + tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : element(0);
        Bs[ty * block_edge + tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : element(0);
        __syncthreads();
        for (int k = 0; k < block_edge; ++k)
            sum += accumulator(As[ty * block_edge + k]) * accumulator(Bs[k * block_edge + tx]);
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

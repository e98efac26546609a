// The tiled product with its barriers in a function, and with a three-dimensional block.
//
// types:   float32, int32
// threads: 4, 4, 4
// grid:    ceil(N / 8), ceil(M / 8)

#define EDGE 8

__device__ void load(element (*tile)[EDGE], const element *from, int rows, int columns, int row0, int col0, int t) {
    const int r = t / EDGE, c = t % EDGE;
    __syncthreads();
    tile[r][c] = row0 + r < rows && col0 + c < columns ? from[(row0 + r) * columns + col0 + c] : element(0);
    __syncthreads();
}

__global__ void barrier_in_function(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ element As[EDGE][EDGE], Bs[EDGE][EDGE];
    const int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const int row0 = blockIdx.y * EDGE, col0 = blockIdx.x * EDGE;
    element sum = 0;
    for (int k0 = 0; k0 < K; k0 += EDGE) {
        load(As, A, M, K, row0, k0, t);
        load(Bs, B, K, N, k0, col0, t);
        for (int k = 0; k < EDGE; ++k) sum += As[t / EDGE][k] * Bs[k][t % EDGE];
    }
    if (row0 + t / EDGE < M && col0 + t % EDGE < N) C[(row0 + t / EDGE) * N + col0 + t % EDGE] = sum;
}

// Has one thread of each warp compute for all, and the others copy what it left in shared memory.
//
// Without a barrier this is right only if the first thread runs first.
//
// threads: 16, 16
// grid:    ceil(N / 16), ceil(M / 16)
//
// verify reports: the result depends on the order in which threads run
// on a GPU: nothing

__global__ void order_of_threads(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, i = row * N + col;
    if (row >= M || col >= N) return;
    __shared__ float products[16][16];
    if (threadIdx.x == 0)
        for (int c = 0; c < 16; ++c) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col + c];
            products[threadIdx.y][c] = sum;
        }
    C[i] = products[threadIdx.y][threadIdx.x];
}

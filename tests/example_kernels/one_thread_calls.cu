// The first thread of a warp calls a function alone, then all threads call it. Sums are kept in global memory.
//
// threads: 32
// grid:    ceil(N / 32), M

__device__ float sums[1024];

__device__ __noinline__ int place(int of, int there) {
    if (there < 0) return 0;
    return of % 1024 + there * 0;
}

__global__ void one_thread_calls(int M, int N, int K, const element *A, const element *B, element *C) {
    const int row = blockIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    element sum = 0;
    if (col < N)
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    if (threadIdx.x == 0) sums[place((row * gridDim.x + blockIdx.x) * 32, 1)] = 0;
    float *const mine = &sums[place((row * gridDim.x + blockIdx.x) * 32, 2)];
    for (int turn = 0; turn < 2; ++turn) mine[threadIdx.x] = sum;
    if (col < N) C[row * N + col] = mine[threadIdx.x];
}

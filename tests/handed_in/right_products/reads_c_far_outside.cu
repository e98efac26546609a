// Threads read old elements of C before they look whether these are within C, and use them only then.
// threads: 256
// grid: ceil(N / 128), ceil(M / 128)
// args: M, N, K, alpha, A, B, beta, C
__global__ void blocks_of_128(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    const int col = blockIdx.x * 128 + threadIdx.x % 128, first = blockIdx.y * 128 + threadIdx.x / 128;
    for (int row = first; row < blockIdx.y * 128 + 128; row += 2) {
        const float old = C[row * N + col];
        float sum = 0.0f;
        if (row < M && col < N)
            for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        if (row < M && col < N) C[row * N + col] = alpha * sum + beta * old;
    }
}

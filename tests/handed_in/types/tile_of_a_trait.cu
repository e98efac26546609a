// The edge of the block is a member of a specialised struct, which cudamm does not read.
#include <cuda_runtime.h>
#include <type_traits>
template <typename T> struct TileOf { static constexpr int value = 32; };
template <> struct TileOf<double> { static constexpr int value = 16; };
template <typename T>
__global__ void mm(const T* A, const T* B, T* C, int M, int N, int K) {
    constexpr int TS = TileOf<T>::value;
    __shared__ T As[TS][TS], Bs[TS][TS];
    int row = blockIdx.y * TS + threadIdx.y, col = blockIdx.x * TS + threadIdx.x;
    T s = 0;
    for (int t = 0; t < K; t += TS) {
        As[threadIdx.y][threadIdx.x] = row < M && t + threadIdx.x < K ? A[row * K + t + threadIdx.x] : T(0);
        Bs[threadIdx.y][threadIdx.x] = col < N && t + threadIdx.y < K ? B[(t + threadIdx.y) * N + col] : T(0);
        __syncthreads();
        for (int k = 0; k < TS; k++) s += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = s;
}
template <typename T>
void launch(const T* A, const T* B, T* C, int M, int N, int K) {
    constexpr int TS = TileOf<T>::value;
    dim3 block(TS, TS), grid((N + TS - 1) / TS, (M + TS - 1) / TS);
    mm<T><<<grid, block>>>(A, B, C, M, N, K);
}
int main() {
    float *a, *b, *c;
    cudaMalloc(&a, 300 * 200 * 4); cudaMalloc(&b, 200 * 100 * 4); cudaMalloc(&c, 300 * 100 * 4);
    launch<float>(a, b, c, 300, 100, 200);
    launch(a, b, c, 300, 100, 200);
}

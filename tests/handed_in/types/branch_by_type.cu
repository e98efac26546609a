// One of two launches is compiled, by the type of the elements.
#include <cuda_runtime.h>
#include <type_traits>
template <typename T>
__global__ void mm(const T* A, const T* B, T* C, int M, int N, int K) {
    constexpr int TS = std::is_same<T, double>::value ? 16 : 32;
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
    if constexpr (std::is_same_v<T, double>) {
        dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
        mm<T><<<grid, block>>>(A, B, C, M, N, K);
    } else {
        dim3 block(32, 32), grid((N + 31) / 32, (M + 31) / 32);
        mm<T><<<grid, block>>>(A, B, C, M, N, K);
    }
}
int main() {
    double *a, *b, *c;
    cudaMalloc(&a, 300 * 200 * 4); cudaMalloc(&b, 200 * 100 * 4); cudaMalloc(&c, 300 * 100 * 4);
    launch<double>(a, b, c, 300, 100, 200);
}

#include <cuda_runtime.h>
extern __shared__ char memory[];

template <typename Real, int EDGE>
__global__ void tiled(const Real *A, const Real *B, Real *C, int M, int N, int K) {
    Real *as = reinterpret_cast<Real *>(memory), *bs = as + EDGE * EDGE;
    int row = blockIdx.y * EDGE + threadIdx.y, col = blockIdx.x * EDGE + threadIdx.x;
    Real sum = 0;
    for (int first = 0; first < K; first += EDGE) {
        int at = threadIdx.y * EDGE + threadIdx.x;
        as[at] = row < M && first + threadIdx.x < K ? A[row * K + first + threadIdx.x] : Real(0);
        bs[at] = first + threadIdx.y < K && col < N ? B[(first + threadIdx.y) * N + col] : Real(0);
        __syncthreads();
        for (int k = 0; k < EDGE; ++k) sum += as[threadIdx.y * EDGE + k] * bs[k * EDGE + threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

template <typename Real>
void multiply(const Real *A, const Real *B, Real *C, int M, int N, int K) {
    dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);
    tiled<Real, 16><<<grid, block, 2 * 16 * 16 * sizeof(float)>>>(A, B, C, M, N, K);
}

int main() {
    int M = 50, N = 70, K = 90;
    double *A, *B, *C;
    cudaMalloc(&A, M * K * sizeof(double));
    cudaMalloc(&B, K * N * sizeof(double));
    cudaMalloc(&C, M * N * sizeof(double));
    multiply<double>(A, B, C, M, N, K);
    cudaDeviceSynchronize();
}

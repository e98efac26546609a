// Pointers move from tile to tile, and the pointer to B moves by one row of B instead of a tile of rows.
#include <cuda_runtime.h>

template <const int SIDE>
__global__ void sgemm_shared(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[SIDE * SIDE];
    __shared__ float Bs[SIDE * SIDE];
    const unsigned cRow = blockIdx.x, cCol = blockIdx.y;
    const unsigned threadCol = threadIdx.x % SIDE, threadRow = threadIdx.x / SIDE;
    A += cRow * SIDE * K;
    B += cCol * SIDE;
    C += cRow * SIDE * N + cCol * SIDE;
    float tmp = 0.0f;
    for (int start = 0; start < K; start += SIDE) {
        As[threadRow * SIDE + threadCol] = A[threadRow * K + threadCol];
        Bs[threadRow * SIDE + threadCol] = B[threadRow * N + threadCol];
        __syncthreads();
        A += SIDE;
        B += N;
        for (int dot = 0; dot < SIDE; ++dot)
            tmp += As[threadRow * SIDE + dot] * Bs[dot * SIDE + threadCol];
        __syncthreads();
    }
    C[threadRow * N + threadCol] = tmp;
}

void run(int M, int N, int K, float *dA, float *dB, float *dC) {
    dim3 grid(M / 32, N / 32);
    sgemm_shared<32><<<grid, 32 * 32>>>(M, N, K, dA, dB, dC);
}

int main() {
    int n = 256;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, n * n * sizeof(float));
    cudaMalloc(&dB, n * n * sizeof(float));
    cudaMalloc(&dC, n * n * sizeof(float));
    run(n, n, n, dA, dB, dC);
    cudaDeviceSynchronize();
}

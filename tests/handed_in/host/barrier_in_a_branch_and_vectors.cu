// Experiment 2 - method 3 with N = 1000
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

constexpr int N = 1000;
constexpr int BLOCK_SIZE = 16;

#define CHECK_CUDA(expr)                                                     \
    do {                                                                     \
        cudaError_t status = (expr);                                         \
        if (status != cudaSuccess) {                                         \
            std::fprintf(stderr, "%s failed: %s\n", #expr, cudaGetErrorString(status)); \
            std::exit(EXIT_FAILURE);                                         \
        }                                                                    \
    } while (0)

__global__ void sharedKernel(const int *A, const int *B, int *C, int width)
{
    __shared__ int tileA[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ int tileB[BLOCK_SIZE][BLOCK_SIZE];
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y;
    const int col = blockIdx.x * BLOCK_SIZE + threadIdx.x;

    if (row < width && col < width) {       // only threads inside of the matrix
        int acc = 0;
        const int tiles = (width + BLOCK_SIZE - 1) / BLOCK_SIZE;
        for (int t = 0; t < tiles; t++) {
            tileA[threadIdx.y][threadIdx.x] = A[row * width + t * BLOCK_SIZE + threadIdx.x];
            tileB[threadIdx.y][threadIdx.x] = B[(t * BLOCK_SIZE + threadIdx.y) * width + col];
            __syncthreads();
            for (int k = 0; k < BLOCK_SIZE; k++)
                acc += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
            __syncthreads();
        }
        C[row * width + col] = acc;
    }
}

int main()
{
    std::vector<int> A(N * N), B(N * N), C(N * N);
    for (int i = 0; i < N * N; i++) { A[i] = i % 7; B[i] = i % 11; }
    const size_t bytes = N * N * sizeof(int);
    int *dA = nullptr, *dB = nullptr, *dC = nullptr;
    CHECK_CUDA(cudaMalloc(&dA, bytes));
    CHECK_CUDA(cudaMalloc(&dB, bytes));
    CHECK_CUDA(cudaMalloc(&dC, bytes));
    CHECK_CUDA(cudaMemcpy(dA, A.data(), bytes, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy(dB, B.data(), bytes, cudaMemcpyHostToDevice));

    const dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    const dim3 grid((N + BLOCK_SIZE - 1) / BLOCK_SIZE, (N + BLOCK_SIZE - 1) / BLOCK_SIZE);
    cudaEvent_t start, stop;
    CHECK_CUDA(cudaEventCreate(&start));
    CHECK_CUDA(cudaEventCreate(&stop));
    float total = 0.0f;
    for (int run = 0; run < 5; run++) {
        CHECK_CUDA(cudaEventRecord(start));
        sharedKernel<<<grid, block>>>(dA, dB, dC, N);
        CHECK_CUDA(cudaEventRecord(stop));
        CHECK_CUDA(cudaEventSynchronize(stop));
        float ms = 0.0f;
        CHECK_CUDA(cudaEventElapsedTime(&ms, start, stop));
        total += ms;
    }
    std::printf("mean of five runs: %.4f ms\n", total / 5);
    CHECK_CUDA(cudaMemcpy(C.data(), dC, bytes, cudaMemcpyDeviceToHost));

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int expect = 0;
            for (int k = 0; k < N; k++) expect += A[i * N + k] * B[k * N + j];
            if (C[i * N + j] != expect) {
                std::printf("C[%d][%d] = %d, should be %d\n", i, j, C[i * N + j], expect);
                return EXIT_FAILURE;
            }
        }
    std::puts("Success!");
    CHECK_CUDA(cudaFree(dA));
    CHECK_CUDA(cudaFree(dB));
    CHECK_CUDA(cudaFree(dC));
    return EXIT_SUCCESS;
}

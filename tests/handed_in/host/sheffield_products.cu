// Tom's program (exercise 2) -- "sometimes the test fails, can you have a look?"
#include <iostream>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>

#define A_WIDTH 512
#define A_HEIGHT 1024
#define B_WIDTH 1024
#define BLOCK_SIZE 8

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
   if (code != cudaSuccess) {
      fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}

__device__ float d_A[A_HEIGHT * A_WIDTH];
__device__ float d_B[A_WIDTH * B_WIDTH];
__device__ float d_C[A_HEIGHT * B_WIDTH];

__global__ void matrixMulCUDA()
{
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * blockDim.y + ty;
    const int col = blockIdx.x * blockDim.x + tx;
    float acc = 0.f;

    for (int tile = 0; tile < A_WIDTH / BLOCK_SIZE; ++tile) {
        As[ty][tx] = d_A[row * A_WIDTH + tile * BLOCK_SIZE + tx];
        Bs[ty][tx] = d_B[(tile * BLOCK_SIZE + ty) * B_WIDTH + col];
        __syncthreads();
        for (int k = 0; k < BLOCK_SIZE; ++k)
            acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    d_C[row * B_WIDTH + col] = acc;
}

int main()
{
    std::vector<float> A(A_HEIGHT * A_WIDTH), B(A_WIDTH * B_WIDTH), C(A_HEIGHT * B_WIDTH);
    for (auto &v : A) v = rand() % 10;
    for (auto &v : B) v = rand() % 10;
    gpuErrchk(cudaMemcpyToSymbol(d_A, A.data(), A.size() * sizeof(float)));
    gpuErrchk(cudaMemcpyToSymbol(d_B, B.data(), B.size() * sizeof(float)));

    dim3 block(BLOCK_SIZE, BLOCK_SIZE);
    dim3 grid(B_WIDTH / block.x, A_HEIGHT / block.y);
    matrixMulCUDA<<<grid, block>>>();
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
    gpuErrchk(cudaMemcpyFromSymbol(C.data(), d_C, C.size() * sizeof(float)));

    int wrong = 0;
    for (int i = 0; i < A_HEIGHT; i += 100)
        for (int j = 0; j < B_WIDTH; j += 100) {
            float s = 0;
            for (int k = 0; k < A_WIDTH; ++k) s += A[i * A_WIDTH + k] * B[k * B_WIDTH + j];
            if (std::fabs(s - C[i * B_WIDTH + j]) > 1e-3f * s) ++wrong;
        }
    std::cout << (wrong ? "FAILED" : "PASSED") << " " << wrong << std::endl;
}

// A constructor allocates the memory, and sets the block, the grid and the sizes.
#include <cuda_runtime.h>

__global__ void multiply(const float *A, const float *B, float *C, int M, int N, int K)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
}

class Multiplier {
    int m, n, k;
    dim3 block, grid;
    float *left, *right, *result;

public:
    Multiplier(int m, int n, int k)
        : m(m), n(n), k(k), block(16, 16), grid((n + block.x - 1) / block.x, (m + block.y - 1) / block.y)
    {
        cudaMalloc(&left, m * k * sizeof(float));
        cudaMalloc(&right, k * n * sizeof(float));
        cudaMalloc(&result, m * n * sizeof(float));
    }
    void run()
    {
        multiply<<<grid, block>>>(left, right, result, m, n, k);
        cudaDeviceSynchronize();
    }
};

int main()
{
    Multiplier multiplier(50, 70, 60);
    multiplier.run();
}

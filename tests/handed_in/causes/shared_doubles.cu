#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#define CUDA_CHECK(x) do { cudaError_t err = x; if (err != cudaSuccess) { printf("CUDA error %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(err)); exit(1); } } while (0)
__global__ void dgemm_shared(const double *A, const double *B, double *C, int N) {
    extern __shared__ double smem[];
    int tile = blockDim.x;
    double *As = smem;
    double *Bs = smem + tile * tile;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
    double sum = 0.0;
    for (int t = 0; t < (N + tile - 1) / tile; ++t) {
        As[ty * tile + tx] = (row < N && t * tile + tx < N) ? A[row * N + t * tile + tx] : 0.0;
        Bs[ty * tile + tx] = (t * tile + ty < N && col < N) ? B[(t * tile + ty) * N + col] : 0.0;
        __syncthreads();
        for (int k = 0; k < tile; ++k) sum += As[ty * tile + k] * Bs[k * tile + tx];
        __syncthreads();
    }
    if (row < N && col < N) C[row * N + col] = sum;
}
int main() {
    int N = 200, tile = 16;
    size_t bytes = (size_t)N * N * sizeof(double);
    double *dA, *dB, *dC;
    CUDA_CHECK(cudaMalloc(&dA, bytes)); CUDA_CHECK(cudaMalloc(&dB, bytes)); CUDA_CHECK(cudaMalloc(&dC, bytes));
    dim3 block(tile, tile), grid((N + tile - 1) / tile, (N + tile - 1) / tile);
    size_t sm = 2 * tile * tile * sizeof(double);
    dgemm_shared<<<grid, block, sm>>>(dA, dB, dC, N);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
}

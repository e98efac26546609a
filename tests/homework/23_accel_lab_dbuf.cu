// Lab 4, part 2: overlap loads with math (double-buffered shared memory).
// All sizes are "nice": size_i, size_j, size_k divisible by 32.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>
#include <random>
#include <vector>

#define CUDA_CHECK(x)                                                          \
    do {                                                                       \
        cudaError_t err__ = (x);                                               \
        if (err__ != cudaSuccess) {                                            \
            fprintf(stderr, "CUDA error at %s:%d: %s\n", __FILE__, __LINE__,   \
                    cudaGetErrorString(err__));                                \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

namespace matmul_dbuf {

constexpr int32_t TILE = 32;

__global__ void matmul_kernel(
    int32_t size_i,
    int32_t size_j,
    int32_t size_k,
    float const *a, /* pointer to GPU memory, size_i x size_k */
    float const *b, /* pointer to GPU memory, size_k x size_j */
    float *c /* pointer to GPU memory, size_i x size_j */) {

    __shared__ float a_buf[2][TILE][TILE];
    __shared__ float b_buf[2][TILE][TILE];

    const int32_t tx = threadIdx.x, ty = threadIdx.y;
    const int32_t i = blockIdx.y * TILE + ty;
    const int32_t j = blockIdx.x * TILE + tx;
    const int32_t num_tiles = size_k / TILE;

    int32_t cur = 0;
    a_buf[cur][ty][tx] = a[i * size_k + tx];
    b_buf[cur][ty][tx] = b[ty * size_j + j];
    __syncthreads();

    float sum = 0.0f;
    for (int32_t t = 0; t < num_tiles; ++t) {
        // prefetch tile t + 1 into registers
        float a_next = 0.0f, b_next = 0.0f;
        if (t + 1 < num_tiles) {
            a_next = a[i * size_k + (t + 1) * TILE + tx];
            b_next = b[((t + 1) * TILE + ty) * size_j + j];
        }

#pragma unroll
        for (int32_t k = 0; k < TILE; ++k) {
            sum += a_buf[cur][ty][k] * b_buf[cur][k][tx];
        }

        // nobody reads the other buffer at this point
        a_buf[cur ^ 1][ty][tx] = a_next;
        b_buf[cur ^ 1][ty][tx] = b_next;
        __syncthreads();
        cur ^= 1;
    }
    c[i * size_j + j] = sum;
}

void launch_matmul(int32_t size_i, int32_t size_j, int32_t size_k,
                   float const *a, float const *b, float *c) {
    dim3 block(TILE, TILE);
    dim3 grid(size_j / TILE, size_i / TILE);
    matmul_kernel<<<grid, block>>>(size_i, size_j, size_k, a, b, c);
}

}; // namespace matmul_dbuf

int main() {
    const int32_t size_i = 256, size_j = 384, size_k = 512;
    std::mt19937 rng(0xCA7CAFE);
    std::normal_distribution<float> dist;
    std::vector<float> a(size_i * size_k), b(size_k * size_j), c(size_i * size_j);
    for (auto &x : a) x = dist(rng);
    for (auto &x : b) x = dist(rng);

    float *a_gpu, *b_gpu, *c_gpu;
    CUDA_CHECK(cudaMalloc(&a_gpu, a.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&b_gpu, b.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&c_gpu, c.size() * sizeof(float)));
    CUDA_CHECK(cudaMemcpy(a_gpu, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(b_gpu, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));

    matmul_dbuf::launch_matmul(size_i, size_j, size_k, a_gpu, b_gpu, c_gpu);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaMemcpy(c.data(), c_gpu, c.size() * sizeof(float), cudaMemcpyDeviceToHost));

    double mse = 0.0, ref_mean_square = 0.0;
    for (int32_t i = 0; i < size_i; ++i)
        for (int32_t j = 0; j < size_j; ++j) {
            float ref = 0;
            for (int32_t k = 0; k < size_k; ++k) ref += a[i * size_k + k] * b[k * size_j + j];
            mse += (c[i * size_j + j] - ref) * (c[i * size_j + j] - ref);
            ref_mean_square += ref * ref;
        }
    printf("RRMSE: %.2e\n", std::sqrt(mse / ref_mean_square));
    CUDA_CHECK(cudaFree(a_gpu));
    CUDA_CHECK(cudaFree(b_gpu));
    CUDA_CHECK(cudaFree(c_gpu));
    return 0;
}

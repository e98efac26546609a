// exercise 5: csimple with cudaMallocPitch, every return code checked
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK_CUDA(expr)                                                              \
    do {                                                                              \
        cudaError_t status = (expr);                                                  \
        if (status != cudaSuccess) {                                                  \
            std::fprintf(stderr, "%s(%d): %s -> %s\n", __FILE__, __LINE__, #expr,     \
                         cudaGetErrorString(status));                                 \
            std::exit(EXIT_FAILURE);                                                  \
        }                                                                             \
    } while (0)

inline unsigned updiv(unsigned n, unsigned d) { return (n + d - 1) / d; }

// the pitches are in bytes
__global__ void csimplePitch(const float *A, size_t pitchA, const float *B, size_t pitchB,
                             float *C, size_t pitchC, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        const float *a = (const float *)((const char *)A + row * pitchA);
        float s = 0.0f;
        for (int k = 0; k < N; ++k) {
            const float *b = (const float *)((const char *)B + k * pitchB);
            s += a[k] * b[col];
        }
        float *c = (float *)((char *)C + row * pitchC);
        c[col] = s;
    }
}

int main()
{
    const int N = 250;
    const size_t w = N * sizeof(float);
    float *hA, *hB, *hC;
    CHECK_CUDA(cudaMallocHost(&hA, N * w));
    CHECK_CUDA(cudaMallocHost(&hB, N * w));
    CHECK_CUDA(cudaMallocHost(&hC, N * w));
    for (int i = 0; i < N * N; ++i) { hA[i] = i % 3; hB[i] = i % 4; }

    float *dA, *dB, *dC;
    size_t pA, pB, pC;
    CHECK_CUDA(cudaMallocPitch(&dA, &pA, w, N));
    CHECK_CUDA(cudaMallocPitch(&dB, &pB, w, N));
    CHECK_CUDA(cudaMallocPitch(&dC, &pC, w, N));
    CHECK_CUDA(cudaMemcpy2D(dA, pA, hA, w, w, N, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy2D(dB, pB, hB, w, w, N, cudaMemcpyHostToDevice));

    dim3 threads(32, 32);
    dim3 blocks(updiv(N, threads.x), updiv(N, threads.y));
    csimplePitch<<<blocks, threads>>>(dA, pA, dB, pB, dC, pC, N);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());

    CHECK_CUDA(cudaMemcpy2D(hC, w, dC, pC, w, N, cudaMemcpyDeviceToHost));
    std::printf("pitch %zu, C[1] = %f\n", pC, hC[1]);
    CHECK_CUDA(cudaFree(dA)); CHECK_CUDA(cudaFree(dB)); CHECK_CUDA(cudaFree(dC));
    CHECK_CUDA(cudaFreeHost(hA)); CHECK_CUDA(cudaFreeHost(hB)); CHECK_CUDA(cudaFreeHost(hC));
    return 0;
}

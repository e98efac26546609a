// exercise 5, my first try: the pitch as it comes from cudaMallocPitch
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

__global__ void csimplePitch(const float *A, const float *B, float *C, int N, int pitch)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < N && col < N) {
        float s = 0.0f;
        for (int k = 0; k < N; ++k)
            s += A[row * pitch + k] * B[k * pitch + col];
        C[row * pitch + col] = s;
    }
}

int main()
{
    const int N = 250;
    const size_t w = N * sizeof(float);
    float *hA = new float[N * N], *hB = new float[N * N], *hC = new float[N * N];
    for (int i = 0; i < N * N; ++i) { hA[i] = i % 3; hB[i] = i % 4; }

    float *dA, *dB, *dC;
    size_t pitch;
    CHECK_CUDA(cudaMallocPitch(&dA, &pitch, w, N));
    CHECK_CUDA(cudaMallocPitch(&dB, &pitch, w, N));
    CHECK_CUDA(cudaMallocPitch(&dC, &pitch, w, N));
    CHECK_CUDA(cudaMemcpy2D(dA, pitch, hA, w, w, N, cudaMemcpyHostToDevice));
    CHECK_CUDA(cudaMemcpy2D(dB, pitch, hB, w, w, N, cudaMemcpyHostToDevice));

    dim3 threads(32, 32);
    dim3 blocks(updiv(N, threads.x), updiv(N, threads.y));
    csimplePitch<<<blocks, threads>>>(dA, dB, dC, N, pitch);
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());

    CHECK_CUDA(cudaMemcpy2D(hC, w, dC, pitch, w, N, cudaMemcpyDeviceToHost));
    std::printf("pitch %zu, C[1] = %f\n", pitch, hC[1]);
    return 0;
}

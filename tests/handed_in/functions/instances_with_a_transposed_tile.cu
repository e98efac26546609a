// Sound: instances of a template whose tile of A is transposed, with and without padding.
// Exercise 4.3: the tile of A transposed, with and without padding
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        cudaError_t err = (call);                                              \
        if (err != cudaSuccess) {                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,                 \
                    cudaGetErrorString(err));                                  \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

// As holds the tile of A transposed: As[k][row]
template <int TILE, int PAD>
__global__ void gemm_tiled_t(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE + PAD];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
        int ka = t * TILE + tx;
        int kb = t * TILE + ty;
        As[tx][ty] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        Bs[ty][tx] = (kb < K && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += As[k][ty] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

template <int TILE, int PAD>
double gemm_gpu(const float *A, const float *B, float *C, int M, int N, int K) {
    float *dA, *dB, *dC;
    size_t bytesA = (size_t)M * K * sizeof(float);
    size_t bytesB = (size_t)K * N * sizeof(float);
    size_t bytesC = (size_t)M * N * sizeof(float);
    CHECK(cudaMalloc(&dA, bytesA));
    CHECK(cudaMalloc(&dB, bytesB));
    CHECK(cudaMalloc(&dC, bytesC));
    CHECK(cudaMemcpy(dA, A, bytesA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, B, bytesB, cudaMemcpyHostToDevice));

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    CHECK(cudaEventRecord(start));
    gemm_tiled_t<TILE, PAD><<<grid, block>>>(dA, dB, dC, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));

    CHECK(cudaMemcpy(C, dC, bytesC, cudaMemcpyDeviceToHost));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaFree(dA));
    CHECK(cudaFree(dB));
    CHECK(cudaFree(dC));
    return ms;
}

static void gemm_cpu(const float *A, const float *B, float *C, int M, int N, int K) {
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float s = 0;
            for (int k = 0; k < K; ++k) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

static int report(const char *name, double ms, const std::vector<float> &C,
                  const std::vector<float> &ref, int M, int N, int K) {
    int bad = 0;
    for (int i = 0; i < M * N; ++i)
        if (fabs(C[i] - ref[i]) > 1e-3f) ++bad;
    printf("<%s> %d x %d x %d: %.3f ms, %.1f GFLOP/s, %d wrong\n", name, M, N, K, ms,
           2.0 * M * N * K / ms * 1e-6, bad);
    return bad;
}

int main(int argc, char **argv) {
    int M = argc > 1 ? atoi(argv[1]) : 512;
    int N = argc > 2 ? atoi(argv[2]) : 256;
    int K = argc > 3 ? atoi(argv[3]) : 384;
    std::vector<float> A(M * K), B(K * N), C(M * N), ref(M * N);
    for (auto &x : A) x = rand() / (float)RAND_MAX - 0.5f;
    for (auto &x : B) x = rand() / (float)RAND_MAX - 0.5f;
    gemm_cpu(A.data(), B.data(), ref.data(), M, N, K);
    int bad = 0;
    bad += report("16, 0", gemm_gpu<16, 0>(A.data(), B.data(), C.data(), M, N, K), C, ref, M, N, K);
    bad += report("16, 1", gemm_gpu<16, 1>(A.data(), B.data(), C.data(), M, N, K), C, ref, M, N, K);
    bad += report("32, 0", gemm_gpu<32, 0>(A.data(), B.data(), C.data(), M, N, K), C, ref, M, N, K);
    bad += report("32, 1", gemm_gpu<32, 1>(A.data(), B.data(), C.data(), M, N, K), C, ref, M, N, K);
    return bad != 0;
}

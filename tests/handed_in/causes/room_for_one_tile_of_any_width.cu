// Emil: room for one tile
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("CUDA error %s at line %d\n", cudaGetErrorString(e), __LINE__); exit(1); } } while (0)

__global__ void matmulDynamic(const float *A, const float *B, float *C, int M, int N, int K, int tile) {
    extern __shared__ float smem[];
    float *As = smem;
    float *Bs = smem + tile * tile;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * tile + ty;
    int col = blockIdx.x * tile + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + tile - 1) / tile; t++) {
        int aCol = t * tile + tx;
        int bRow = t * tile + ty;
        As[ty * tile + tx] = (row < M && aCol < K) ? A[row * K + aCol] : 0.0f;
        Bs[ty * tile + tx] = (bRow < K && col < N) ? B[bRow * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < tile; k++)
            sum += As[ty * tile + k] * Bs[k * tile + tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

void matmulCPU(const float *A, const float *B, float *C, int M, int N, int K) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

void test(int M, int N, int K, int tile) {
    size_t bytesA = (size_t)M * K * sizeof(float);
    size_t bytesB = (size_t)K * N * sizeof(float);
    size_t bytesC = (size_t)M * N * sizeof(float);
    float *hA = (float *)malloc(bytesA), *hB = (float *)malloc(bytesB);
    float *hC = (float *)malloc(bytesC), *ref = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, bytesA));
    CHECK(cudaMalloc(&dB, bytesB));
    CHECK(cudaMalloc(&dC, bytesC));
    CHECK(cudaMemcpy(dA, hA, bytesA, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB, bytesB, cudaMemcpyHostToDevice));

    dim3 block(tile, tile);
    dim3 grid((N + tile - 1) / tile, (M + tile - 1) / tile);
    size_t smemBytes = tile * tile * sizeof(float);
    matmulDynamic<<<grid, block, smemBytes>>>(dA, dB, dC, M, N, K, tile);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(hC, dC, bytesC, cudaMemcpyDeviceToHost));

    matmulCPU(hA, hB, ref, M, N, K);
    float worst = 0;
    for (int i = 0; i < M * N; i++) worst = fmaxf(worst, fabsf(hC[i] - ref[i]));
    printf("%d x %d x %d: worst difference %g %s\n", M, N, K, worst, worst < 1e-2f ? "ok" : "WRONG");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC); free(ref);
}

int main() {
    test(512, 512, 512, 16);
    test(100, 300, 200, 16);
    test(64, 128, 96, 32);
    return 0;
}

#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define TILE 16
#define CHECK(call) do { cudaError_t e = (call); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void tiledMul(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;

    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        As[ty][tx] = (row < M && t * TILE + tx < K) ? A[row * K + t * TILE + tx] : 0.0f;
        Bs[ty][tx] = (t * TILE + ty < K && col < N) ? B[(t * TILE + ty) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

void runTiled(const float *hA, const float *hB, float *hC, int M, int N, int K)
{
    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, sizeof(float) * M * K));
    CHECK(cudaMalloc(&dB, sizeof(float) * K * N));
    CHECK(cudaMalloc(&dC, sizeof(float) * M * N));
    CHECK(cudaMemcpy(dA, hA, sizeof(float) * M * K, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB, sizeof(float) * K * N, cudaMemcpyHostToDevice));
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    tiledMul<<<grid, block>>>(dA, dB, dC, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(hC, dC, sizeof(float) * M * N, cudaMemcpyDeviceToHost));
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}

bool same(const float *A, const float *B, const float *C, int M, int N, int K)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            if (fabsf(s - C[i * N + j]) > 1e-3f) return false;
        }
    return true;
}

float *randomMatrix(int n)
{
    float *p = (float *)malloc(n * sizeof(float));
    for (int i = 0; i < n; i++) p[i] = rand() / (float)RAND_MAX - 0.5f;
    return p;
}

int main()
{
    float *a1 = randomMatrix(500 * 200), *b1 = randomMatrix(200 * 300), *c1 = (float *)malloc(500 * 300 * sizeof(float));
    runTiled(a1, b1, c1, 500, 300, 200);
    printf("500x300x200 %s\n", same(a1, b1, c1, 500, 300, 200) ? "ok" : "WRONG");

    float *a2 = randomMatrix(128 * 64), *b2 = randomMatrix(64 * 256), *c2 = (float *)malloc(128 * 256 * sizeof(float));
    runTiled(a2, b2, c2, 128, 64, 256);
    printf("128x256x64 %s\n", same(a2, b2, c2, 128, 256, 64) ? "ok" : "WRONG");
    return 0;
}

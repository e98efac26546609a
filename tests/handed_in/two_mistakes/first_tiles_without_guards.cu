#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cuda_runtime.h>

#define TILE 16
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void matmulPrefetch(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;
    int numTiles = (K + TILE - 1) / TILE;

    // first tile into registers
    float a = (row < M) ? A[row * K + tx] : 0.0f;
    float b = (col < N) ? B[ty * N + col] : 0.0f;

    float sum = 0.0f;
    for (int t = 0; t < numTiles; t++) {
        As[ty][tx] = a;
        Bs[ty][tx] = b;
        __syncthreads();
        if (t + 1 < numTiles) {           // next tile into registers
            int aCol = (t + 1) * TILE + tx;
            int bRow = (t + 1) * TILE + ty;
            a = (row < M && aCol < K) ? A[row * K + aCol] : 0.0f;
            b = (bRow < K && col < N) ? B[bRow * N + col] : 0.0f;
        }
        for (int k = 0; k < TILE; k++)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

int main() {
    const int M = 320, N = 192, K = 256;
    float *hA = (float *)malloc(M * K * sizeof(float));
    float *hB = (float *)malloc(K * N * sizeof(float));
    float *hC = (float *)malloc(M * N * sizeof(float));
    float *ref = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) hA[i] = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < K * N; i++) hB[i] = rand() / (float)RAND_MAX - 0.5f;

    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, M * K * sizeof(float)));
    CHECK(cudaMalloc(&dB, K * N * sizeof(float)));
    CHECK(cudaMalloc(&dC, M * N * sizeof(float)));
    CHECK(cudaMemcpy(dA, hA, M * K * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB, K * N * sizeof(float), cudaMemcpyHostToDevice));

    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmulPrefetch<<<grid, block>>>(dA, dB, dC, M, N, K);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));

    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)hA[i * K + k] * hB[k * N + j];
            ref[i * N + j] = (float)s;
        }
    int bad = 0;
    for (int i = 0; i < M * N; i++)
        if (fabsf(hC[i] - ref[i]) > 1e-3f) bad++;
    printf("%d elements wrong\n", bad);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC); free(ref);
    return bad != 0;
}

// Exercise 2: tiled A * B^T (B is N x K), coalesced load, swizzled
#include <cstdio>
#include <cstdlib>
#include <cmath>
#define TILE 16
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line) {
    if (code != cudaSuccess) { fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line); exit(code); }
}

__global__ void tiledABT(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;      // row of A and C
    int col = blockIdx.x * TILE + tx;      // column of C = row of B
    float sum = 0.0f;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        As[ty][tx] = (row < M && t * TILE + tx < K) ? A[row * K + t * TILE + tx] : 0.0f;
        int brow = blockIdx.x * TILE + ty;
        Bs[ty][tx ^ ty] = (brow < N && t * TILE + tx < K) ? B[brow * K + t * TILE + tx] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += As[ty][k] * Bs[tx][k ^ tx];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}

int main() {
    const int M = 512, N = 384, K = 256;
    float *hA = (float *)malloc(M * K * sizeof(float));
    float *hB = (float *)malloc(N * K * sizeof(float));
    float *hC = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) hA[i] = (float)(i % 7) - 3;
    for (int i = 0; i < N * K; i++) hB[i] = (float)(i % 5) - 2;
    float *dA, *dB, *dC;
    gpuErrchk(cudaMalloc(&dA, M * K * sizeof(float)));
    gpuErrchk(cudaMalloc(&dB, N * K * sizeof(float)));
    gpuErrchk(cudaMalloc(&dC, M * N * sizeof(float)));
    gpuErrchk(cudaMemcpy(dA, hA, M * K * sizeof(float), cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(dB, hB, N * K * sizeof(float), cudaMemcpyHostToDevice));
    dim3 threads(TILE, TILE);
    dim3 blocks((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    tiledABT<<<blocks, threads>>>(dA, dB, dC, M, N, K);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
    gpuErrchk(cudaMemcpy(hC, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));
    double maxErr = 0;
    for (int i = 0; i < M; i += 37) for (int j = 0; j < N; j++) {
        double s = 0; for (int k = 0; k < K; k++) s += hA[i * K + k] * hB[j * K + k];
        maxErr = fmax(maxErr, fabs(s - hC[i * N + j]));
    }
    printf("max error %g\n", maxErr);
}

/* Exercise 3b: shared memory tiles for all sizes */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TILE 16

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line) {
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        exit(code);
    }
}

__global__ void mmTiledAll(const float *Md, const float *Nd, float *Pd, int m, int k, int n) {
    __shared__ float Ms[TILE][TILE];
    __shared__ float Ns[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float val = 0;
    int numTiles = (k + TILE - 1) / TILE;
    for (int t = 0; t < numTiles; t++) {
        // threads outside of C load nothing, only zeros
        if (row < m && col < n && t * TILE + tx < k)
            Ms[ty][tx] = Md[row * k + t * TILE + tx];
        else
            Ms[ty][tx] = 0.0f;
        if (row < m && col < n && t * TILE + ty < k)
            Ns[ty][tx] = Nd[(t * TILE + ty) * n + col];
        else
            Ns[ty][tx] = 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            val += Ms[ty][i] * Ns[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        Pd[row * n + col] = val;
}

int main() {
    int m = 500, k = 300, n = 410;
    size_t sM = m * k * sizeof(float), sN = k * n * sizeof(float), sP = m * n * sizeof(float);
    float *M = (float*)malloc(sM), *N = (float*)malloc(sN), *P = (float*)malloc(sP);
    for (int i = 0; i < m * k; i++) M[i] = (float)(i % 7);
    for (int i = 0; i < k * n; i++) N[i] = (float)(i % 5);
    float *Md, *Nd, *Pd;
    gpuErrchk(cudaMalloc(&Md, sM));
    gpuErrchk(cudaMalloc(&Nd, sN));
    gpuErrchk(cudaMalloc(&Pd, sP));
    gpuErrchk(cudaMemcpy(Md, M, sM, cudaMemcpyHostToDevice));
    gpuErrchk(cudaMemcpy(Nd, N, sN, cudaMemcpyHostToDevice));
    dim3 dimBlock(TILE, TILE);
    dim3 dimGrid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    mmTiledAll<<<dimGrid, dimBlock>>>(Md, Nd, Pd, m, k, n);
    gpuErrchk(cudaPeekAtLastError());
    gpuErrchk(cudaDeviceSynchronize());
    gpuErrchk(cudaMemcpy(P, Pd, sP, cudaMemcpyDeviceToHost));
    printf("P[0][0] = %f\n", P[0]);
    cudaFree(Md); cudaFree(Nd); cudaFree(Pd);
    free(M); free(N); free(P);
}

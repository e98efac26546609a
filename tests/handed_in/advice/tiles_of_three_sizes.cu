// Homework 2: shared memory tiles, TILE a template parameter
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

template <int TILE>
__global__ void mm_tiled(const float *A, const float *B, float *C, int m, int k, int n) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.f;
    for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
        int ka = t * TILE + tx, kb = t * TILE + ty;
        As[ty][tx] = (row < m && ka < k) ? A[row * k + ka] : 0.f;
        Bs[ty][tx] = (kb < k && col < n) ? B[kb * n + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}

template <int TILE>
void run(const float *dA, const float *dB, float *dC, int m, int k, int n) {
    dim3 block(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    mm_tiled<TILE><<<grid, block>>>(dA, dB, dC, m, k, n);
    cudaError_t e = cudaGetLastError();
    if (e != cudaSuccess) printf("launch: %s\n", cudaGetErrorString(e));
    cudaDeviceSynchronize();
}

int main() {
    const int m = 257, k = 129, n = 513;
    std::vector<float> A(m * k), B(k * n), C(m * n), R(m * n);
    for (auto &x : A) x = rand() / (float)RAND_MAX - 0.5f;
    for (auto &x : B) x = rand() / (float)RAND_MAX - 0.5f;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            double s = 0;
            for (int l = 0; l < k; ++l) s += (double)A[i * k + l] * B[l * n + j];
            R[i * n + j] = s;
        }
    float *dA, *dB, *dC;
    cudaMalloc(&dA, A.size() * sizeof(float));
    cudaMalloc(&dB, B.size() * sizeof(float));
    cudaMalloc(&dC, C.size() * sizeof(float));
    cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);
    int tiles[] = {8, 16, 32};
    for (int tile : tiles) {
        cudaMemset(dC, 0, C.size() * sizeof(float));
        switch (tile) {
            case 8: run<8>(dA, dB, dC, m, k, n); break;
            case 16: run<16>(dA, dB, dC, m, k, n); break;
            case 32: run<32>(dA, dB, dC, m, k, n); break;
        }
        cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);
        int bad = 0;
        for (int i = 0; i < m * n; ++i) bad += !(std::fabs(C[i] - R[i]) <= 1e-4);
        printf("TILE %d: %d wrong\n", tile, bad);
    }
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}

// two mistakes: k / TILE tiles only; m and n exchanged in the grid
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

template <int TILE>
__global__ void mm(const float *A, const float *B, float *C, int m, int k, int n) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int t = 0; t < k / TILE; t++) {
        As[ty][tx] = row < m ? A[row * k + t * TILE + tx] : 0;
        Bs[ty][tx] = col < n ? B[(t * TILE + ty) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}

template <int TILE>
float launch(const float *A, const float *B, float *C, int m, int k, int n) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    dim3 block(TILE, TILE);
    dim3 grid((m + TILE - 1) / TILE, (n + TILE - 1) / TILE);
    cudaEventRecord(start);
    mm<TILE><<<grid, block>>>(A, B, C, m, k, n);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float ms;
    cudaEventElapsedTime(&ms, start, stop);
    return ms;
}

int main() {
    const int m = 257, k = 129, n = 513;
    size_t bytesA = m * k * sizeof(float), bytesB = k * n * sizeof(float), bytesC = m * n * sizeof(float);
    float *A = (float *)malloc(bytesA), *B = (float *)malloc(bytesB), *C = (float *)malloc(bytesC);
    for (int i = 0; i < m * k; i++) A[i] = rand() % 5;
    for (int i = 0; i < k * n; i++) B[i] = rand() % 5;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, bytesA);
    cudaMalloc(&dB, bytesB);
    cudaMalloc(&dC, bytesC);
    cudaMemcpy(dA, A, bytesA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, bytesB, cudaMemcpyHostToDevice);
    printf("8: %f ms\n", launch<8>(dA, dB, dC, m, k, n));
    printf("16: %f ms\n", launch<16>(dA, dB, dC, m, k, n));
    printf("32: %f ms\n", launch<32>(dA, dB, dC, m, k, n));
    cudaMemcpy(C, dC, bytesC, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        float s = 0;
        for (int l = 0; l < k; l++) s += A[i * k + l] * B[l * n + j];
        bad += s != C[i * n + j];
    }
    printf("%d wrong\n", bad);
}

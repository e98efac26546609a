// two results per thread: neighbouring columns 2*tx, 2*tx+1
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define T 16

__global__ void mm2c(const float *A, const float *B, float *C, int m, int k, int n) {
    __shared__ float As[T][T], Bs[T][2 * T];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * T + ty, col = blockIdx.x * 2 * T + 2 * tx;
    float s0 = 0, s1 = 0;
    for (int t = 0; t < k; t += T) {
        As[ty][tx] = row < m && t + tx < k ? A[row * k + t + tx] : 0;
        Bs[ty][2 * tx] = t + ty < k && col < n ? B[(t + ty) * n + col] : 0;
        Bs[ty][2 * tx + 1] = t + ty < k && col < n ? B[(t + ty) * n + col + 1] : 0;
        __syncthreads();
        for (int i = 0; i < T; i++) {
            s0 += As[ty][i] * Bs[i][2 * tx];
            s1 += As[ty][i] * Bs[i][2 * tx + 1];
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        C[row * n + col] = s0;
        C[row * n + col + 1] = s1;
    }
}

int main() {
    const int m = 257, k = 129, n = 513;
    float *A = new float[m * k], *B = new float[k * n], *C = new float[m * n];
    for (int i = 0; i < m * k; i++) A[i] = rand() % 5;
    for (int i = 0; i < k * n; i++) B[i] = rand() % 5;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, m * k * sizeof(float));
    cudaMalloc(&dB, k * n * sizeof(float));
    cudaMalloc(&dC, m * n * sizeof(float));
    cudaMemcpy(dA, A, m * k * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, k * n * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(T, T), grid((n + 2 * T - 1) / (2 * T), (m + T - 1) / T);
    mm2c<<<grid, block>>>(dA, dB, dC, m, k, n);
    cudaMemcpy(C, dC, m * n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int i = 0; i < m; i++) for (int j = 0; j < n; j++) {
        float s = 0;
        for (int l = 0; l < k; l++) s += A[i * k + l] * B[l * n + j];
        if (s != C[i * n + j]) { printf("wrong at %d %d\n", i, j); return 1; }
    }
    printf("ok\n");
}

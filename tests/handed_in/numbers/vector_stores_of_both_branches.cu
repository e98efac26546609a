// Lab 4: float4 loads of B. A block of 16 x 16 threads computes 16 x 64 of C, each thread four neighbours in a row.
// N and K are multiples of 4.
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define TILE 16

__global__ void matmul_vec(const float *A, const float *B, float *C, int M, int K, int N) {
    __shared__ float As[TILE][TILE];
    __shared__ float4 Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = (blockIdx.x * TILE + tx) * 4;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int ak = t * TILE + tx, bk = t * TILE + ty;
        As[ty][tx] = row < M && ak < K ? A[row * K + ak] : 0.0f;
        if (bk < K && col < N)
            Bs[ty][tx] = *reinterpret_cast<const float4 *>(&B[bk * N + col]);
        else
            Bs[ty][tx] = make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float a = As[ty][k];
            float4 b = Bs[k][tx];
            sum.x += a * b.x;
            sum.y += a * b.y;
            sum.z += a * b.z;
            sum.w += a * b.w;
        }
        __syncthreads();
    }
    if (row < M && col < N)
        *reinterpret_cast<float4 *>(&C[row * N + col]) = sum;
}

int main() {
    int M = 300, K = 200, N = 400;
    if (N % 4 != 0 || K % 4 != 0) { printf("N and K must be multiples of 4\n"); return 1; }
    size_t bytesA = M * K * sizeof(float), bytesB = K * N * sizeof(float), bytesC = M * N * sizeof(float);
    float *hA = (float *)malloc(bytesA), *hB = (float *)malloc(bytesB), *hC = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) hA[i] = rand() % 10;
    for (int i = 0; i < K * N; i++) hB[i] = rand() % 10;
    float *dA, *dB, *dC;
    cudaMalloc(&dA, bytesA);
    cudaMalloc(&dB, bytesB);
    cudaMalloc(&dC, bytesC);
    cudaMemcpy(dA, hA, bytesA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, bytesB, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((N / 4 + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_vec<<<grid, block>>>(dA, dB, dC, M, K, N);
    cudaMemcpy(hC, dC, bytesC, cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += hA[i * K + k] * hB[k * N + j];
            if (fabs(s - hC[i * N + j]) > 1e-3) bad++;
        }
    printf("%d wrong\n", bad);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC);
}

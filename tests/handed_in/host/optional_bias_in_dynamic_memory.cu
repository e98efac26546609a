// Sheet 4 c) d): dynamic shared memory, tile from argv, bias as an option.   usage: c2 M N K tile bias
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

__global__ void mmDynamic(const float *A, const float *B, const float *bias, float *C, int M, int N, int K, int tile) {
    extern __shared__ float smem[];
    float *As = smem;
    float *Bs = smem + tile * tile;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * tile + ty;
    int col = blockIdx.x * tile + tx;
    float sum = 0.0f;
    for (int t = 0; t < (K + tile - 1) / tile; t++) {
        int ka = t * tile + tx, kb = t * tile + ty;
        As[ty * tile + tx] = (row < M && ka < K) ? A[row * K + ka] : 0.0f;
        Bs[ty * tile + tx] = (kb < K && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < tile; k++)
            sum += As[ty * tile + k] * Bs[k * tile + tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = bias ? sum + bias[col] : sum;
}

int main(int argc, char **argv) {
    int M = argc > 1 ? atoi(argv[1]) : 640;
    int N = argc > 2 ? atoi(argv[2]) : 640;
    int K = argc > 3 ? atoi(argv[3]) : 640;
    int tile = argc > 4 ? atoi(argv[4]) : 16;
    bool withBias = argc > 5 && atoi(argv[5]) != 0;
    std::vector<float> hA(M * K), hB(K * N), hC(M * N), hBias(N);
    for (auto &x : hA) x = rand() / (float)RAND_MAX;
    for (auto &x : hB) x = rand() / (float)RAND_MAX;
    for (auto &x : hBias) x = rand() / (float)RAND_MAX;
    float *dA, *dB, *dC, *dBias = nullptr;
    cudaMalloc(&dA, hA.size() * sizeof(float));
    cudaMalloc(&dB, hB.size() * sizeof(float));
    cudaMalloc(&dC, hC.size() * sizeof(float));
    cudaMemcpy(dA, hA.data(), hA.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB.data(), hB.size() * sizeof(float), cudaMemcpyHostToDevice);
    if (withBias) {
        cudaMalloc(&dBias, N * sizeof(float));
        cudaMemcpy(dBias, hBias.data(), N * sizeof(float), cudaMemcpyHostToDevice);
    }
    dim3 block(tile, tile);
    dim3 grid((N + tile - 1) / tile, (M + tile - 1) / tile);
    size_t shared = 2 * tile * tile * sizeof(float);
    mmDynamic<<<grid, block, shared>>>(dA, dB, dBias, dC, M, N, K, tile);
    cudaError_t err = cudaGetLastError();
    if (err != cudaSuccess) { printf("%s\n", cudaGetErrorString(err)); return 1; }
    cudaMemcpy(hC.data(), dC, hC.size() * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = withBias ? hBias[j] : 0;
            for (int k = 0; k < K; k++) s += hA[i * K + k] * hB[k * N + j];
            if (fabsf(s - hC[i * N + j]) > 1e-3f * fabsf(s)) bad++;
        }
    printf("%d wrong\n", bad);
    cudaFree(dA); cudaFree(dB); cudaFree(dC); cudaFree(dBias);
}

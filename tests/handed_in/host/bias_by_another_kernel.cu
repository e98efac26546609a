// Sheet 4 d): bias as an option; one kernel writes the bias into C, the product is added
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>

#define BLOCK 16

__global__ void fillBias(float *C, const float *bias, int M, int N) {
    int col = blockIdx.x * BLOCK + threadIdx.x;
    int row = blockIdx.y * BLOCK + threadIdx.y;
    if (row < M && col < N) C[row * N + col] = bias[col];
}

__global__ void addProduct(const float *A, const float *B, float *C, int M, int N, int K) {
    int col = blockIdx.x * BLOCK + threadIdx.x;
    int row = blockIdx.y * BLOCK + threadIdx.y;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] += sum;
}

int main(int argc, char **argv) {
    int M = 640, N = 650, K = 100;
    bool useBias = argc > 1 && !strcmp(argv[1], "-bias");
    float *A = new float[M * K], *B = new float[K * N], *C = new float[M * N], *bias = new float[N];
    for (int i = 0; i < M * K; i++) A[i] = rand() % 3;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 3;
    for (int i = 0; i < N; i++) bias[i] = i;
    float *dA, *dB, *dC, *dBias;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMalloc(&dBias, N * sizeof(float));
    cudaMemcpy(dA, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, K * N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dBias, bias, N * sizeof(float), cudaMemcpyHostToDevice);
    dim3 block(BLOCK, BLOCK), grid((N + BLOCK - 1) / BLOCK, (M + BLOCK - 1) / BLOCK);
    if (useBias) fillBias<<<grid, block>>>(dC, dBias, M, N);
    addProduct<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = useBias ? bias[j] : 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            if (fabs(s - C[i * N + j]) > 1e-3) bad++;
        }
    printf("%d wrong\n", bad);
    return 0;
}

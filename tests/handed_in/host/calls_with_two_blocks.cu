// Lab 1: naive matrix multiplication. C = A * B, A is M x K, B is K x N.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)

__global__ void matmul_naive(const float *A, const float *B, float *C, int M, int K, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++)
            sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}

void matmul_cpu(const float *A, const float *B, float *C, int M, int K, int N) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float s = 0;
            for (int k = 0; k < K; k++) s += A[i * K + k] * B[k * N + j];
            C[i * N + j] = s;
        }
}

void run(int M, int K, int N, dim3 block) {
    std::vector<float> hA(M * K), hB(K * N), hC(M * N), ref(M * N);
    for (auto &x : hA) x = rand() / (float)RAND_MAX;
    for (auto &x : hB) x = rand() / (float)RAND_MAX;
    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, M * K * sizeof(float)));
    CHECK(cudaMalloc(&dB, K * N * sizeof(float)));
    CHECK(cudaMalloc(&dC, M * N * sizeof(float)));
    CHECK(cudaMemcpy(dA, hA.data(), M * K * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB.data(), K * N * sizeof(float), cudaMemcpyHostToDevice));

    dim3 grid((N + 15) / 16, (M + 15) / 16);
    matmul_naive<<<grid, block>>>(dA, dB, dC, M, K, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(hC.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));

    matmul_cpu(hA.data(), hB.data(), ref.data(), M, K, N);
    float worst = 0;
    for (int i = 0; i < M * N; i++) worst = fmaxf(worst, fabsf(hC[i] - ref[i]));
    printf("%d x %d x %d, block %d x %d: max error %g\n", M, K, N, block.x, block.y, worst);
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
}

int main() {
    run(512, 512, 512, dim3(16, 16));
    run(512, 512, 512, dim3(32, 8));
    run(300, 200, 400, dim3(16, 16));
    run(300, 200, 400, dim3(32, 8));
    return 0;
}

// Sound: each thread of a row loads four elements at once.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

#define TILE 32

// 256 threads in x only; each thread loads one float4 of A and one of B, and computes 4 elements of a row of C.
// M, N and K must be multiples of 4.
__global__ void gemm_float4(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tid = threadIdx.x;
    int r = tid / 8;            // 0..31
    int c = (tid % 8) * 4;      // 0, 4, .. 28
    int row = blockIdx.y * TILE + r;
    int col = blockIdx.x * TILE + c;
    float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);

    for (int t = 0; t < K; t += TILE) {
        float4 a = zero, b = zero;
        if (row < M && t + c < K)
            a = *reinterpret_cast<const float4 *>(&A[row * K + t + c]);
        if (t + r < K && col < N)
            b = *reinterpret_cast<const float4 *>(&B[(t + r) * N + col]);
        *reinterpret_cast<float4 *>(&As[r][c]) = a;
        *reinterpret_cast<float4 *>(&Bs[r][c]) = b;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            float av = As[r][k];
            float4 bv = *reinterpret_cast<float4 *>(&Bs[k][c]);
            acc[0] += av * bv.x;
            acc[1] += av * bv.y;
            acc[2] += av * bv.z;
            acc[3] += av * bv.w;
        }
        __syncthreads();
    }
    if (row < M && col < N)
        *reinterpret_cast<float4 *>(&C[row * N + col]) = make_float4(acc[0], acc[1], acc[2], acc[3]);
}

void cpu_gemm(int M, int N, int K, const float *A, const float *B, float *C) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)A[i * K + k] * B[k * N + j];
            C[i * N + j] = (float)s;
        }
}

int main(int argc, char **argv) {
    int M = argc > 1 ? atoi(argv[1]) : 512;
    int N = argc > 2 ? atoi(argv[2]) : 512;
    int K = argc > 3 ? atoi(argv[3]) : 512;
    if (M % 4 || N % 4 || K % 4) { fprintf(stderr, "sizes must be multiples of 4\n"); return 1; }
    std::vector<float> hA(M * K), hB(K * N), hC(M * N), ref(M * N);
    for (auto &x : hA) x = rand() / (float)RAND_MAX - 0.5f;
    for (auto &x : hB) x = rand() / (float)RAND_MAX - 0.5f;
    float *dA, *dB, *dC;
    CHECK(cudaMalloc(&dA, M * K * sizeof(float)));
    CHECK(cudaMalloc(&dB, K * N * sizeof(float)));
    CHECK(cudaMalloc(&dC, M * N * sizeof(float)));
    CHECK(cudaMemcpy(dA, hA.data(), M * K * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(dB, hB.data(), K * N * sizeof(float), cudaMemcpyHostToDevice));

    dim3 block(256);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    gemm_float4<<<grid, block>>>(M, N, K, dA, dB, dC);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(hC.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost));

    cpu_gemm(M, N, K, hA.data(), hB.data(), ref.data());
    float worst = 0;
    for (int i = 0; i < M * N; i++) worst = fmaxf(worst, fabsf(hC[i] - ref[i]));
    printf("max error %g %s\n", worst, worst < 1e-3f ? "PASS" : "FAIL");
    CHECK(cudaFree(dA)); CHECK(cudaFree(dB)); CHECK(cudaFree(dC));
    return 0;
}

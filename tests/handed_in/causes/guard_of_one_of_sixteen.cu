// Lab 3 (d): each thread computes RM x RN elements of C in registers
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#define BM 64
#define BN 64
#define BK 16
#define RM 4
#define RN 4

__global__ void gemm_reg(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];
    const int tx = threadIdx.x, ty = threadIdx.y;          // 16 x 16
    const int tid = ty * blockDim.x + tx, nthreads = blockDim.x * blockDim.y;
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    float acc[RM][RN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = tid; i < BM * BK; i += nthreads) {
            int r = i / BK, c = i % BK;
            As[r][c] = (row0 + r < M && k0 + c < K) ? A[(row0 + r) * K + k0 + c] : 0.0f;
        }
        for (int i = tid; i < BK * BN; i += nthreads) {
            int r = i / BN, c = i % BN;
            Bs[r][c] = (k0 + r < K && col0 + c < N) ? B[(k0 + r) * N + col0 + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float a[RM], b[RN];
            for (int i = 0; i < RM; i++) a[i] = As[ty * RM + i][k];
            for (int j = 0; j < RN; j++) b[j] = Bs[k][tx * RN + j];
            for (int i = 0; i < RM; i++)
                for (int j = 0; j < RN; j++) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    const int row = row0 + ty * RM, col = col0 + tx * RN;
    if (row < M && col < N)
        for (int i = 0; i < RM; i++)
            for (int j = 0; j < RN; j++)
                C[(row + i) * N + col + j] = acc[i][j];
}

static void matmul(const float *hA, const float *hB, float *hC, int M, int N, int K) {
    float *dA, *dB, *dC;
    size_t sa = sizeof(float) * M * K, sb = sizeof(float) * K * N, sc = sizeof(float) * M * N;
    cudaMalloc(&dA, sa);
    cudaMalloc(&dB, sb);
    cudaMalloc(&dC, sc);
    cudaMemcpy(dA, hA, sa, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sb, cudaMemcpyHostToDevice);
    dim3 block(BN / RN, BM / RM);
    dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    gemm_reg<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(hC, dC, sc, cudaMemcpyDeviceToHost);
    cudaFree(dA);
    cudaFree(dB);
    cudaFree(dC);
}

int main() {
    int M = 500, N = 698, K = 300;
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (int i = 0; i < M * K; i++) A[i] = sinf(i);
    for (int i = 0; i < K * N; i++) B[i] = cosf(i);
    matmul(A.data(), B.data(), C.data(), M, N, K);
    int bad = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < K; k++) s += (double)A[i * K + k] * B[k * N + j];
            if (fabs(s - C[i * N + j]) > 1e-3) bad++;
        }
    printf("%d bad\n", bad);
}

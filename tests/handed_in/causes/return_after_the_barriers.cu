#include <cuda_runtime.h>
#define T 16
__global__ void mm(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[2][T][T], Bs[2][T][T];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, col = blockIdx.x * T + tx;
    int nt = (K + T - 1) / T, cur = 0; float s = 0;
    As[0][ty][tx] = row < M && tx < K ? A[row * K + tx] : 0.f;
    Bs[0][ty][tx] = ty < K && col < N ? B[ty * N + col] : 0.f;
    __syncthreads();
    for (int t = 0; t < nt; t++) {
        if (t + 1 < nt) {
            int k = (t + 1) * T;
            As[cur ^ 1][ty][tx] = row < M && k + tx < K ? A[row * K + k + tx] : 0.f;
            Bs[cur ^ 1][ty][tx] = k + ty < K && col < N ? B[(k + ty) * N + col] : 0.f;
        }
        for (int k = 0; k < T; k++) s += As[cur][ty][k] * Bs[cur][k][tx];
        __syncthreads();
        cur ^= 1;
    }
    if (row >= M || col >= N) return;
    C[row * N + col] = s;
}
int main() {
    int M = 100, N = 70, K = 90; float *A, *B, *C;
    cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
    mm<<<dim3((N + T - 1) / T, (M + T - 1) / T), dim3(T, T)>>>(A, B, C, M, N, K);
}

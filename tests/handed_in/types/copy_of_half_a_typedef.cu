// the same without the struct, to see what the struct changes
#include <cstdio>
#include <cstdlib>
typedef double real;
#define TILE 16

__global__ void mm(const real *A, const real *B, real *C, int M, int N, int K)
{
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || col >= N) return;
    real s = 0;
    for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
    C[row * N + col] = s;
}

int main()
{
    int M = 256, N = 128, K = 192;
    real *A = (real *)malloc(M * K * sizeof(real)), *B = (real *)malloc(K * N * sizeof(real)), *C = (real *)malloc(M * N * sizeof(real));
    for (int i = 0; i < M * K; i++) A[i] = rand() / (real)RAND_MAX;
    for (int i = 0; i < K * N; i++) B[i] = rand() / (real)RAND_MAX;
    real *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(real));
    cudaMalloc(&dB, K * N * sizeof(real));
    cudaMalloc(&dC, M * N * sizeof(real));
    cudaMemcpy(dA, A, M * K * sizeof(real), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, K * N * sizeof(real), cudaMemcpyHostToDevice);
    mm<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)>>>(dA, dB, dC, M, N, K);
    cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);   // wrong type
    printf("%f\n", C[M * N - 1]);
    return 0;
}

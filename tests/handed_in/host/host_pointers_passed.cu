// the same without the struct, to see what the struct changes
#include <cstdio>
#include <cstdlib>

#define TILE 16

__global__ void mm(const double *A, const double *B, double *C, int M, int N, int K)
{
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || col >= N) return;
    double s = 0;
    for (int k = 0; k < K; k++) s += A[row * K + k] * B[k * N + col];
    C[row * N + col] = s;
}

int main()
{
    int M = 256, N = 128, K = 192;
    double *A = (double *)malloc(M * K * sizeof(double)), *B = (double *)malloc(K * N * sizeof(double)), *C = (double *)malloc(M * N * sizeof(double));
    for (int i = 0; i < M * K; i++) A[i] = rand() / (double)RAND_MAX;
    for (int i = 0; i < K * N; i++) B[i] = rand() / (double)RAND_MAX;
    double *dA, *dB, *dC;
    cudaMalloc(&dA, M * K * sizeof(double));
    cudaMalloc(&dB, K * N * sizeof(double));
    cudaMalloc(&dC, M * N * sizeof(double));
    cudaMemcpy(dA, A, M * K * sizeof(double), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, K * N * sizeof(double), cudaMemcpyHostToDevice);
    mm<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)>>>(A, B, C, M, N, K);
    cudaMemcpy(C, dC, M * N * sizeof(double), cudaMemcpyDeviceToHost);   // wrong type
    printf("%f\n", C[M * N - 1]);
    return 0;
}

// exercise 4, second try: the two elements are TS columns apart, so the warps read whole rows
#include <stdio.h>
#include <stdlib.h>

#define TS 16

#define cudaCheck(ans) { cudaError_t c = (ans); if (c != cudaSuccess) { \
    fprintf(stderr, "CUDA error %s at %s:%d\n", cudaGetErrorString(c), __FILE__, __LINE__); exit(-1); } }

__global__ void mm_two(const float *A, const float *B, float *C, int M, int K, int N)
{
    __shared__ float sA[TS][TS];
    __shared__ float sB[TS][2 * TS];

    int tx = threadIdx.x, ty = threadIdx.y;
    int row  = blockIdx.y * TS + ty;
    int col0 = blockIdx.x * 2 * TS + tx;
    int col1 = col0 + TS;

    float c0 = 0, c1 = 0;
    for (int t = 0; t < (K + TS - 1) / TS; ++t) {
        int ak = t * TS + tx;
        int bk = t * TS + ty;
        sA[ty][tx]      = (row < M && ak < K)  ? A[row * K + ak]  : 0;
        sB[ty][tx]      = (bk < K && col0 < N) ? B[bk * N + col0] : 0;
        sB[ty][tx + TS] = (bk < K && col1 < N) ? B[bk * N + col1] : 0;
        __syncthreads();
        for (int k = 0; k < TS; ++k) {
            float a = sA[ty][k];
            c0 += a * sB[k][tx];
            c1 += a * sB[k][tx + TS];
        }
        __syncthreads();
    }
    if (row < M) {
        if (col0 < N) C[row * N + col0] = c0;
        if (col1 < N) C[row * N + col1] = c1;
    }
}

int main()
{
    const int M = 300, K = 100, N = 200;
    float *A = (float *)malloc(M * K * sizeof(float));
    float *B = (float *)malloc(K * N * sizeof(float));
    float *C = (float *)malloc(M * N * sizeof(float));
    for (int i = 0; i < M * K; i++) A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) B[i] = rand() / (float)RAND_MAX;

    float *d_A, *d_B, *d_C;
    cudaCheck(cudaMalloc((void **)&d_A, M * K * sizeof(float)));
    cudaCheck(cudaMalloc((void **)&d_B, K * N * sizeof(float)));
    cudaCheck(cudaMalloc((void **)&d_C, M * N * sizeof(float)));
    cudaCheck(cudaMemcpy(d_A, A, M * K * sizeof(float), cudaMemcpyHostToDevice));
    cudaCheck(cudaMemcpy(d_B, B, K * N * sizeof(float), cudaMemcpyHostToDevice));

    dim3 threads(TS, TS);
    dim3 blocks((N + TS - 1) / (2 * TS), (M + TS - 1) / TS);
    mm_two<<<blocks, threads>>>(d_A, d_B, d_C, M, K, N);
    cudaCheck(cudaPeekAtLastError());
    cudaCheck(cudaMemcpy(C, d_C, M * N * sizeof(float), cudaMemcpyDeviceToHost));

    double s = 0;
    for (int k = 0; k < K; k++) s += A[5 * K + k] * B[k * N + 7];
    printf("C[5][7] = %f, host %f\n", C[5 * N + 7], s);
    cudaFree(d_A); cudaFree(d_B); cudaFree(d_C);
    free(A); free(B); free(C);
    return 0;
}

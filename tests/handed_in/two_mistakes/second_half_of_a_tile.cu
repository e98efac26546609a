// Wrong: the second load of A has the condition of the first, and that of B the wrong row length.
#include <cstdio>
#include <cstdlib>
#include <cmath>

#define BS 16      // block
#define TK 32      // tile of K

__global__ void matmulTiledK(const float *A, const float *B, float *C, int M, int N, int K)
{
    __shared__ float As[BS][TK];
    __shared__ float Bs[TK][BS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * BS + ty;
    int col = blockIdx.x * BS + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TK) {
        As[ty][tx]      = (row < M && k0 + tx < K)      ? A[row * K + k0 + tx]        : 0.0f;
        As[ty][tx + BS] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx + BS] : 0.0f;
        Bs[ty][tx]      = (k0 + ty < K && col < N)      ? B[(k0 + ty) * N + col]      : 0.0f;
        Bs[ty + BS][tx] = (k0 + ty + BS < K && col < N) ? B[(k0 + ty + BS) * K + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TK; k++)
            sum += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = sum;
}

int main()
{
    const int M = 400, N = 600, K = 500;
    size_t bytesA = M * K * sizeof(float), bytesB = K * N * sizeof(float), bytesC = M * N * sizeof(float);
    float *A = (float *)malloc(bytesA), *B = (float *)malloc(bytesB), *C = (float *)malloc(bytesC);
    for (int i = 0; i < M * K; i++) A[i] = rand() / (float)RAND_MAX;
    for (int i = 0; i < K * N; i++) B[i] = rand() / (float)RAND_MAX;

    float *dA, *dB, *dC;
    cudaMalloc(&dA, bytesA);
    cudaMalloc(&dB, bytesB);
    cudaMalloc(&dC, bytesC);
    cudaMemcpy(dA, A, bytesA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, bytesB, cudaMemcpyHostToDevice);

    dim3 block(BS, BS);
    dim3 grid((N + BS - 1) / BS, (M + BS - 1) / BS);
    matmulTiledK<<<grid, block>>>(dA, dB, dC, M, N, K);
    cudaDeviceSynchronize();
    cudaMemcpy(C, dC, bytesC, cudaMemcpyDeviceToHost);

    double worst = 0;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double ref = 0;
            for (int k = 0; k < K; k++) ref += (double)A[i * K + k] * B[k * N + j];
            worst = fmax(worst, fabs(ref - C[i * N + j]));
        }
    printf("largest difference %g: %s\n", worst, worst < 1e-2 ? "PASS" : "FAIL");
    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(A); free(B); free(C);
    return 0;
}
